"""Tables about proxies."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Integer, Table, Text

from shoal.store.tables.metadata import metadata

LATENCY_CLASSES = 9

proxy_lists = Table(
    "proxy_lists",
    metadata,
    Column("name", Text, primary_key=True),
    Column("text", Text, nullable=False),
)

proxy_costs = Table(
    "proxy_costs",
    metadata,
    Column("pool", Text, primary_key=True),
    # Counted from 1970, by UTC.
    Column("day", Integer, primary_key=True),
    Column("millionths", BigInteger, nullable=False),
)

proxy_figures = Table(
    "proxy_figures",
    metadata,
    Column("pool", Text, primary_key=True),
    Column("proxy", Text, primary_key=True),
    # Empty: at all hosts.
    Column("host", Text, primary_key=True),
    Column("requests", BigInteger, nullable=False),
    Column("successes", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("blocks", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),
    # One column for each class of latency: several processes add to them at the same time.
    *(Column(f"latency_{place}", BigInteger, nullable=False) for place in range(LATENCY_CLASSES)),
    Column("in_a_row", Integer, nullable=False),
    Column("cool_until", Double, nullable=False),
    Column("reason", Text, nullable=False),
    Column("updated_at", Double, nullable=False),
)
