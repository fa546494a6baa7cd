"""Start pages that ask that none of their links be followed."""

from __future__ import annotations

from shoal.store.database.plain_sql import run
from shoal.store.store import Store


def nofollow_starts(store: Store, job: str, limit: int) -> list[str]:
    """Their URLs, the first ones that were fetched."""
    asking = (
        "SELECT url FROM pages WHERE job = :job AND depth = 0 AND parent IS NULL AND nofollow "
        "ORDER BY fetched_at LIMIT :most"
    )
    with store.read_plain() as db:
        return [url for (url,) in run(db, asking, {"job": job, "most": limit})]
