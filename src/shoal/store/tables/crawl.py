"""What every crawl keeps: jobs and what was given to them, how each request ended, and what it led to."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    event,
)

metadata = MetaData()

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
    # The id of a token, which may be gone by now.
    Column("owner", Text),
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
    # What is appended is looked up among all that was given before.
    Index("inputs_by_fingerprint", "job", "fingerprint"),
)

pages = Table(
    "pages",
    metadata,
    Column("job", Text, primary_key=True),
    Column("fingerprint", BigInteger, primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("parent", BigInteger),
    Column("content_type", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("duration_ms", Integer, nullable=False),
    Column("fetched_at", Double, nullable=False),
    Column("via", Text, nullable=False),
    Column("archive", Text),
    Column("changed", Boolean),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("tdm_reservation", Text),
    Column("tdm_policy", Text),
    Column("title", Text),
    Column("canonical", Text),
    # Listings and exports come in the order of the crawl, and start at once however many pages there are.
    Index("pages_by_time", "job", "fetched_at"),
)

contents = Table(
    "contents",
    metadata,
    Column("job", Text, primary_key=True),
    Column("fingerprint", BigInteger, primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("packed", LargeBinary, nullable=False),
)

redirects = Table(
    "redirects",
    metadata,
    Column("job", Text, primary_key=True),
    Column("fingerprint", BigInteger, primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("parent", BigInteger),
    Column("target", Text, nullable=False),
    Column("target_fingerprint", BigInteger),
    Column("reason", Text),
    Column("fetched_at", Double, nullable=False),
)

dead = Table(
    "dead",
    metadata,
    Column("job", Text, primary_key=True),
    Column("fingerprint", BigInteger, primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("status", Integer),
    Column("detail", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("parent", BigInteger),
    Column("attempts", Integer, nullable=False),
    Column("died_at", Double, nullable=False),
    Column("request", Text, nullable=False),
)

drops = Table(
    "drops",
    metadata,
    Column("job", Text, primary_key=True),
    Column("fingerprint", BigInteger, primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("parent", BigInteger),
    Column("dropped_at", Double, nullable=False),
)

items = Table(
    "items",
    metadata,
    Column("job", Text, primary_key=True),
    Column("page", BigInteger, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("type", Text, nullable=False),
    Column("key", Text),
    Column("data", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
)


@event.listens_for(items, "after_create")
def _index_keys(_table: Table, db: Connection, **_: object) -> None:
    # Partial, so that items without a key pay nothing for it. As an Index among the columns it would load
    # PostgreSQL's dialect at every start, which takes 20 ms.
    db.exec_driver_sql("CREATE UNIQUE INDEX items_by_key ON items (job, type, key) WHERE key IS NOT NULL")


rejects = Table(
    "rejects",
    metadata,
    Column("job", Text, primary_key=True),
    Column("page", BigInteger, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("type", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
)

item_types = Table(
    "item_types",
    metadata,
    Column("job", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("place", Integer, nullable=False),
    Column("kinds", Text, nullable=False),
)

quality = Table(
    "quality",
    metadata,
    Column("job", Text, primary_key=True),
    Column("type", Text, primary_key=True),
    Column("field", Text, primary_key=True),
    Column("place", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("nulls", BigInteger, nullable=False),
    Column("distinct", Integer, nullable=False),
    Column("least", Text),
    Column("most", Text),
)

tallies = Table(
    "tallies",
    metadata,
    Column("job", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    # Each of several writers adds to rows of its own; the count is the sum over all parts.
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
    Column("sample", Text),
)

segments = Table(
    "segments",
    metadata,
    Column("job", Text, primary_key=True),
    Column("segment", Text, primary_key=True),
    Column("machine", Text, nullable=False),
    Column("process", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    # Few are open, and those are looked for again and again.
    Index("segments_by_state", "state", "process"),
)

waiting = Table(
    "waiting",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("job", Text, nullable=False),
    Column("offer", Text, nullable=False),
    Index("waiting_by_job", "job", "id"),
)

offers = Table(
    "offers",
    metadata,
    # A long-lived server sees more than 2^31 batches; SQLite counts only what is called INTEGER.
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("job", Text, nullable=False),
    Column("packed", LargeBinary, nullable=False),
    Index("offers_by_job", "job", "id"),
)

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
    Column("domain", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("line", Text, nullable=False),
)
