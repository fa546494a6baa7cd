"""Tables of the outcomes of requests: pages with their content, redirects, dead letters and dropped requests."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Connection, Double, Index, Integer, LargeBinary, Table, Text, event

from shoal.store.tables.metadata import metadata

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
    # Partial and not among the columns, for the same reasons as the index of keys in `items.py`.
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
