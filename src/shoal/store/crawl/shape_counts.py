"""What a job has learnt about shapes of URLs, for every worker and every later run of the job."""

from __future__ import annotations

from sqlalchemy import BigInteger, cast, func, select

from shoal.store.store import Store
from shoal.store.tables import tallies

USELESS_PAGES = "shape_useless"
USEFUL_PAGES = "shape_useful"
"""The kinds of tallies. Their key is a host and a shape, or a host alone."""


def load_shape_counts(store: Store, job: str) -> dict[tuple[str, str], int]:
    """(kind, key) -> pages."""
    c = tallies.c
    # PostgreSQL's sum is a decimal.
    n = cast(func.sum(c.n), BigInteger)
    counts = select(c.kind, c.key, n).where(c.job == job, c.kind.in_((USELESS_PAGES, USEFUL_PAGES)))
    with store.read() as db:
        return {(kind, key): n for kind, key, n in db.execute(counts.group_by(c.kind, c.key))}
