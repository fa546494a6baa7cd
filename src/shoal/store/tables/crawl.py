"""Tables of every crawl: jobs, their inputs, the outcomes of their requests, and their items."""

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
    Column("noindex", Boolean),
    Column("nofollow", Boolean),
    # The page that represents it, in a job that merges pages with the same canonical URL.
    Column("merged_into", BigInteger),
    Column("change_kind", Text),
    # A part of other pages, or a file of items.
    Column("is_asset", Boolean),
    Column("session", Text),
    # Listings and exports come in crawl order, and start at once however many pages there are.
    Index("pages_by_time", "job", "fetched_at"),
)


@event.listens_for(pages, "after_create")
def _index_assets(_table: Table, db: Connection, **_: object) -> None:
    # Partial and not among the columns, for the same reasons as the index of keys below.
    is_asset = "is_asset = 1" if db.dialect.name == "sqlite" else "is_asset"
    db.exec_driver_sql(f"CREATE INDEX pages_that_are_assets ON pages (job) WHERE {is_asset}")


canonicals = Table(
    "canonicals",
    metadata,
    Column("job", Text, primary_key=True),
    # The fingerprint of a canonical URL, and the page that represents all that name it.
    Column("canonical", BigInteger, primary_key=True),
    Column("page", BigInteger, nullable=False),
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


files = Table(
    "files",
    metadata,
    Column("job", Text, primary_key=True),
    # The request of the file, and the page whose items refer to it.
    Column("file", BigInteger, primary_key=True, autoincrement=False),
    Column("page", BigInteger, primary_key=True, autoincrement=False),
    # As the items have them, as a JSON list: several texts may stand for one request.
    Column("urls", Text, nullable=False),
)


@event.listens_for(items, "after_create")
def _index_keys(_table: Table, db: Connection, **_: object) -> None:
    # Partial, so that items without a key cost nothing. As an Index among the columns it would import
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
    # Few segments are open, and these are looked up often.
    Index("segments_by_state", "state", "process"),
)

stored_files = Table(
    "stored_files",
    metadata,
    # A job that uses the file. Several may use the same one.
    Column("job", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Index("stored_files_by_path", "path"),
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
    # A long-lived server writes more than 2^31 batches; SQLite autoincrements only a column declared INTEGER.
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
    # Empty: the job's own.
    Column("session", Text, primary_key=True),
    Column("domain", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("line", Text, nullable=False),
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

changes = Table(
    "changes",
    metadata,
    # PostgreSQL gives out numbers in the order of the inserts, not of the commits; `part` makes the order safe.
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("job", Text, nullable=False),
    Column("part", Integer, nullable=False),
    Column("at", Double, nullable=False),
    # Items that changed or went.
    Column("n", Integer, nullable=False),
    # JSON: the pages whose items changed, and the items that went.
    Column("packed", Text, nullable=False),
    Index("changes_by_part", "job", "part", "id"),
)

sinks = Table(
    "sinks",
    metadata,
    Column("job", Text, primary_key=True),
    # Its place in the job's list.
    Column("place", Integer, primary_key=True, autoincrement=False),
    # JSON: part -> the last change that was delivered.
    Column("cursor", Text, nullable=False),
    # JSON: up to where the batch goes that is being delivered.
    Column("planned", Text),
    Column("batch", BigInteger, nullable=False),
    # Of the changed items, how many were delivered.
    Column("delivered", BigInteger, nullable=False),
    Column("delivered_at", Double),
    # What it waits for.
    Column("fault", Text),
    # Whether waiting does not help.
    Column("stuck", Boolean, nullable=False),
    # The process that feeds it.
    Column("holder", Text),
    Column("held_until", Double),
)

refused = Table(
    "refused",
    metadata,
    Column("job", Text, primary_key=True),
    Column("sink", Integer, primary_key=True, autoincrement=False),
    Column("type", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("page", BigInteger, nullable=False),
    Column("data", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Double, nullable=False),
    # Whether the next batch tries it again.
    Column("again", Boolean, nullable=False),
)
