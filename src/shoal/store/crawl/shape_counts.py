"""What a job has learnt about shapes of URLs, for every worker and every later run of the job."""

from __future__ import annotations

from shoal.store.database.plain_sql import run
from shoal.store.store import Store

USELESS_PAGES = "shape_useless"
USEFUL_PAGES = "shape_useful"
"""The kinds of tallies. Their key is a host and a shape, or a host alone."""


def load_shape_counts(store: Store, job: str) -> dict[tuple[str, str], int]:
    """(kind, key) -> pages."""
    # PostgreSQL's sum is a decimal.
    counts = (
        "SELECT kind, key, CAST(sum(n) AS BIGINT) FROM tallies WHERE job = :job AND kind IN (:useless, :useful) "
        "GROUP BY kind, key"
    )
    with store.read_plain() as db:
        rows = run(db, counts, {"job": job, "useless": USELESS_PAGES, "useful": USEFUL_PAGES})
    return {(kind, key): n for kind, key, n in rows}
