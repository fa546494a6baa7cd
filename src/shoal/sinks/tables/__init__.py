"""Sinks that are tables of a database: one table for each type of item, one row for each item."""
