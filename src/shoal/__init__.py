"""Shoal crawls and scrapes the web: one process on SQLite, or a fleet around Redis, with the same spider."""

__version__ = "0.1.0"
