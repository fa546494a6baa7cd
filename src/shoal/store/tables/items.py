"""Tables of items: their types, fields, files and changes, and what was rejected."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, Double, Index, Integer, Table, Text, event

from shoal.store.tables.metadata import metadata

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
    # Partial, so that items without a key cost nothing. As an Index among the columns it would import
    # PostgreSQL's dialect at every start, which takes 20 ms.
    db.exec_driver_sql("CREATE UNIQUE INDEX items_by_key ON items (job, type, key) WHERE key IS NOT NULL")


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
