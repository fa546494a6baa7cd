"""Tables of sinks: how far each is, and which items its destination refused."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Double, Integer, Table, Text

from shoal.store.tables.metadata import metadata

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
