"""Tables of jobs: their specs and states, their inputs, the claims of their hooks, and their counts."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Double, Index, Integer, Table, Text

from shoal.store.tables.metadata import metadata

jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("finished_at", Double),
    Column("seconds", Double, nullable=False),
    Column("reason", Text),
    Column("admitted", Text, nullable=False),
    Column("seeded", Boolean, nullable=False),
    Column("offered_line", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("told", Integer, nullable=False),
    Column("fleet", Boolean, nullable=False),
    Column("request_id", Text),
    Column("extracted_by", Text),
    # The id of a token, which may have been removed.
    Column("owner", Text),
    # JSON: the version of every spider that has worked on the job.
    Column("spider_versions", Text),
    # Lists of jobs begin with the newest.
    Index("jobs_by_time", "created_at", "id"),
)

inputs = Table(
    "inputs",
    metadata,
    Column("job", Text, primary_key=True),
    Column("line", Integer, primary_key=True),
    Column("spelt", Text, nullable=False),
    Column("url", Text),
    Column("fingerprint", BigInteger),
    Column("host", Text),
    Column("reason", Text),
    Column("duplicate_of", Integer),
    # The row of a list with columns, as JSON.
    Column("columns", Text),
    # Appended inputs are looked up among all earlier ones.
    Index("inputs_by_fingerprint", "job", "fingerprint"),
)

hooks = Table(
    "hooks",
    metadata,
    Column("job", Text, primary_key=True),
    Column("hook", Text, primary_key=True),
    Column("state", Text, nullable=False),
    # While a process runs it.
    Column("claimed_until", Double),
    # What it gave as JSON, or why it failed.
    Column("result", Text),
)

tallies = Table(
    "tallies",
    metadata,
    Column("job", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    # Each writer adds to rows of its own; the count is the sum over all parts.
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
    Column("sample", Text),
    # When the first and last of the failed attempts failed. None: other kinds, and attempts of older versions.
    Column("first_at", Double),
    Column("last_at", Double),
    # How many of them failed in each period: `store/failure_trend.py`.
    Column("trend", Text),
)

series = Table(
    "series",
    metadata,
    Column("job", Text, primary_key=True),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("seconds", Integer, nullable=False),
    Column("pages", Integer, nullable=False),
    # JSON: the number of pages of each status.
    Column("by_status", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("items", Integer, nullable=False),
    Column("p50_ms", Integer),
    Column("p95_ms", Integer),
    Column("queue", BigInteger),
)
