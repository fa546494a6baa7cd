"""What is known about each proxy, at all hosts and at one. Several processes add to it at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import BigInteger, Row, and_, case, cast, delete, func, select

from shoal.store.database.sqlite_script import TableColumns
from shoal.store.database.upsert import Upsert, added, on_same_key
from shoal.store.proxies.costs import add_costs
from shoal.store.store import Store
from shoal.store.tables import proxy_figures as table
from shoal.store.tables.proxies import LATENCY_CLASSES

_CURRENT = ("in_a_row", "cool_until", "reason", "updated_at")
"""Columns that the newest row replaces; the others are added up."""
KEPT_S = 30 * 86_400.0
MOST_HOST_ROWS = 20_000
"""Of one pool."""


class ProxyFigures(NamedTuple):
    pool: str
    proxy: str
    host: str
    """Empty: at all hosts."""
    requests: int
    successes: int
    failures: int
    blocks: int
    bytes: int
    cost: float
    latencies: tuple[int, ...]
    """Successes by class of latency."""
    in_a_row: int
    cool_until: float
    reason: str
    updated_at: float


def add_proxy_figures(store: Store, rows: Sequence[ProxyFigures]) -> None:
    with store.write() as db:
        # In one order: processes that save the same rows at the same time must not wait for each other in a circle.
        _ADD.write(db, [(*row[:9], *row.latencies, *row[10:]) for row in sorted(rows, key=lambda row: row[:3])])
        add_costs(db, rows)


def load_proxy_figures(store: Store, pool: str, since: float = 0.0) -> list[ProxyFigures]:
    """Those that changed since then."""
    wanted = select(table).where(table.c.pool == pool, table.c.updated_at >= since)
    with store.read() as db:
        return [_figures(row) for row in db.execute(wanted.order_by(table.c.proxy, table.c.host))]


def pool_of_job(job: str) -> str:
    """The name of the pool of a job that lists its own proxies."""
    return f"job {job}"


def prune_proxy_figures(store: Store, now: float, most: int = MOST_HOST_ROWS) -> None:
    """Forgets what is old about proxies at single hosts, and of each pool all but the newest. Pools are read whole when
    a job begins, and a crawl of many hosts adds rows for each."""
    of_hosts = select(table.c.pool).where(table.c.host != "").group_by(table.c.pool)
    with store.read() as db:
        pools = list(db.execute(of_hosts.having(func.count() > most)).scalars())
    ends = dict.fromkeys(pools, 0.0)
    for pool in pools:
        newest = select(table.c.updated_at).where(table.c.pool == pool, table.c.host != "")
        with store.read() as db:
            ends[pool] = db.execute(newest.order_by(table.c.updated_at.desc()).offset(most - 1).limit(1)).scalar_one()
    with store.write() as db:
        db.execute(delete(table).where(table.c.host != "", table.c.updated_at < now - KEPT_S))
        for pool, end in ends.items():
            db.execute(delete(table).where(table.c.pool == pool, table.c.host != "", table.c.updated_at < end))


class PoolTotals(NamedTuple):
    pool: str
    successes: int
    failures: int
    blocks: int
    bytes: int
    cost: float
    cooling: int


def pool_totals(store: Store, now: float) -> list[PoolTotals]:
    """Of named pools, over all their proxies."""
    # PostgreSQL's sum is a decimal.
    sums = [cast(func.sum(table.c[name]), BigInteger) for name in ("successes", "failures", "blocks", "bytes")]
    cooling = func.sum(case((and_(table.c.in_a_row > 0, table.c.cool_until > now), 1), else_=0))
    named = select(table.c.pool, *sums, func.sum(table.c.cost), cast(cooling, BigInteger))
    of_all_hosts = named.where(table.c.host == "", table.c.pool.not_like("job %"))
    with store.read() as db:
        return [PoolTotals(*row) for row in db.execute(of_all_hosts.group_by(table.c.pool).order_by(table.c.pool))]


def pools_with_figures(store: Store) -> list[str]:
    with store.read() as db:
        return list(db.execute(select(table.c.pool).distinct().order_by(table.c.pool)).scalars())


def _figures(row: Row[tuple[object, ...]]) -> ProxyFigures:
    values = tuple(row)
    end = 9 + LATENCY_CLASSES
    return ProxyFigures._make((*values[:9], values[9:end], *values[end:]))


def _add(columns: TableColumns) -> str:
    newest = {name: f"excluded.{name}" for name in _CURRENT}
    return on_same_key(columns, {name: newest.get(name) or added(columns, name) for name in columns.values})


_ADD = Upsert("proxy_figures", _add)
