"""Tables that requests need: robots.txt, cookies, and links that were offered or wait for room in the frontier."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Index, Integer, LargeBinary, Table, Text

from shoal.store.tables.metadata import metadata

robots = Table(
    "robots",
    metadata,
    Column("origin", Text, primary_key=True),
    Column("status", Integer),
    Column("body", LargeBinary, nullable=False),
    Column("fetched_at", Double),
    Column("asked_at", Double),
)

cookies = Table(
    "cookies",
    metadata,
    Column("job", Text, primary_key=True),
    # Empty: the job's own.
    Column("session", Text, primary_key=True),
    Column("domain", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("line", Text, nullable=False),
)

offers = Table(
    "offers",
    metadata,
    # A long-lived server writes more than 2^31 batches; SQLite autoincrements only a column declared INTEGER.
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("job", Text, nullable=False),
    Column("packed", LargeBinary, nullable=False),
    Index("offers_by_job", "job", "id"),
)

waiting = Table(
    "waiting",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("job", Text, nullable=False),
    Column("offer", Text, nullable=False),
    Index("waiting_by_job", "job", "id"),
)
