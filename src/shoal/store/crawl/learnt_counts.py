"""What a job has learnt about its URLs, for every worker and every later run of the job."""

from __future__ import annotations

from shoal.store.database.plain_sql import run
from shoal.store.store import Store

USELESS_PAGES = "shape_useless"
USEFUL_PAGES = "shape_useful"
"""Kinds of tallies. Their key is a host and a shape, or a host alone."""
RENDER_GAINED = "render_gained"
RENDER_WASTED = "render_wasted"
"""The same, of pages that a browser loaded after a plain fetch. Their key is a host and a path pattern."""


def load_learnt_counts(store: Store, job: str) -> dict[tuple[str, str], int]:
    """(kind, key) -> pages."""
    # PostgreSQL's sum is a decimal.
    counts = (
        "SELECT kind, key, CAST(sum(n) AS BIGINT) FROM tallies "
        "WHERE job = :job AND kind IN (:useless, :useful, :gained, :wasted) GROUP BY kind, key"
    )
    kinds = {"useless": USELESS_PAGES, "useful": USEFUL_PAGES, "gained": RENDER_GAINED, "wasted": RENDER_WASTED}
    with store.read_plain() as db:
        rows = run(db, counts, {"job": job, **kinds})
    return {(kind, key): n for kind, key, n in rows}
