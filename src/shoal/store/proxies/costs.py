"""What all jobs have spent on each pool of proxies, by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Connection, cast, func, select

from shoal.model import MILLION
from shoal.store.database.sqlite_script import TableColumns
from shoal.store.database.upsert import Upsert, added, on_same_key
from shoal.store.store import Store
from shoal.store.tables import proxy_costs as table

if TYPE_CHECKING:
    from shoal.store.proxies.figures import ProxyFigures

_DAY_S = 86_400


def add_costs(db: Connection, rows: Sequence[ProxyFigures]) -> None:
    costs: Counter[tuple[str, int]] = Counter()
    for row in rows:
        # The rows of single hosts have the same costs again.
        if not row.host and row.cost:
            costs[row.pool, int(row.updated_at // _DAY_S)] += round(row.cost * MILLION)
    _ADD.write(db, [(*key, costs[key]) for key in sorted(costs)])


def cost_since(store: Store, pool: str, day: int) -> float:
    """In the currency of the prices. Days are counted from 1970."""
    # PostgreSQL's sum is a decimal.
    spent = select(cast(func.coalesce(func.sum(table.c.millionths), 0), BigInteger))
    with store.read() as db:
        millionths: int = db.execute(spent.where(table.c.pool == pool, table.c.day >= day)).scalar_one()
    return millionths / MILLION


def _add(columns: TableColumns) -> str:
    return on_same_key(columns, {"millionths": added(columns, "millionths")})


_ADD = Upsert("proxy_costs", _add)
