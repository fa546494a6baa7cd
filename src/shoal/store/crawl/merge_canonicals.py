"""Merges the pages of a job that name the same canonical URL: the first one that is stored represents the others.

A page that represents others stays as it is, whatever it says when it is fetched again: otherwise the others would be
shown nowhere.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from shoal.model import PageRecord
from shoal.store.database.plain_sql import among, list_value, run
from shoal.store.database.upsert import Upsert, keep_first

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction

_CANONICALS = Upsert("canonicals", keep_first)


def merge(db: Transaction, job: str, pages: Iterable[PageRecord], stored: Container[int]) -> None:
    """Sets `merged_into` of the pages that another one represents. `stored` are the requests that had an outcome."""
    # Of pages that are stored together, the one at the canonical URL comes first.
    keyed = sorted(
        ((page.merge_key, page) for page in pages if page.merge_key is not None),
        key=lambda pair: (pair[0] != pair[1].fingerprint, pair[1].fetched_at),
    )
    first: dict[int, int] = {}
    for key, page in keyed:
        first.setdefault(key, page.fingerprint)
    # All writers use the same order: otherwise two writers with common keys would deadlock.
    _CANONICALS.write(db, [(job, key, first[key]) for key in sorted(first)])
    owners = f"SELECT canonical, page FROM canonicals WHERE job = :job AND {among(db, 'canonical', 'keys')}"
    known: dict[int, int] = dict(map(tuple, run(db, owners, {"job": job, "keys": list_value(db, list(first))})))
    for key, page in keyed:
        if known[key] == page.fingerprint:
            continue
        if page.fingerprint not in stored or not _represents_others(db, job, page.fingerprint):
            page.merged_into = known[key]


def _represents_others(db: Transaction, job: str, page: int) -> bool:
    owned = "SELECT page FROM canonicals WHERE job = :job AND page = :page LIMIT 1"
    return bool(run(db, owned, {"job": job, "page": page}))
