"""Tables of a fleet only: tokens, idempotency keys, exclusions, host overrides, schedules, runs and deliveries."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Double, Index, Integer, Table, Text, text

from shoal.store.tables.metadata import metadata

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("scope", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("used_at", Double),
)

answers = Table(
    "answers",
    metadata,
    Column("token", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request", Text, nullable=False),
    Column("claimed_at", Double, nullable=False),
    Column("job", Text, nullable=False),
    Column("status", Integer),
    Column("body", Text),
    Index("answers_by_time", "claimed_at"),
)

exclusions = Table(
    "exclusions",
    metadata,
    # One row for all lines: they are read and replaced together.
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("lines", Text, nullable=False),
)

hosts = Table(
    "hosts",
    metadata,
    Column("host", Text, primary_key=True),
    Column("rate", Double),
    Column("paused", Boolean, nullable=False),
)

schedules = Table(
    "schedules",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("cron", Text, nullable=False),
    Column("zone", Text, nullable=False),
    Column("overlap", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("due_at", Double, nullable=False),
    Column("owner", Text),
    # Each owner has its own names; a plain NULL would not equal another NULL.
    Index("schedules_by_name", text("coalesce(owner, '')"), "name", unique=True),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("job", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("before", Text, nullable=False),
    Column("reason", Text),
    Column("at", Double, nullable=False),
    Column("attempts", Integer, nullable=False),
    # NULL: delivered, or given up.
    Column("due_at", Double),
    Column("delivered_at", Double),
    Column("fault", Text),
    Index("deliveries_by_job", "job", "at"),
    Index("deliveries_by_time", "due_at"),
)

runs = Table(
    "runs",
    metadata,
    Column("schedule", Text, primary_key=True),
    Column("tick", Double, primary_key=True),
    Column("job", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("missed", Integer, nullable=False),
    Column("reason", Text),
    Column("claimed_at", Double),
    # Few runs are due, and these are looked up in every round.
    Index("runs_by_state", "state"),
)
