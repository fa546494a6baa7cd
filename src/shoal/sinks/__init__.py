"""Sinks: deliver a job's items to where people work. A sink follows the log in the store, never the engine."""

THREADS = "sink"
"""The names of the threads that deliver begin with this."""
