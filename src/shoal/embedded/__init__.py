"""Crawling in one process on SQLite: the home, a run of a job in it, and the Python API."""
