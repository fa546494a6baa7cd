"""Merges the pages of a job that name the same canonical URL: the first one that is stored represents the others.

A page that represents others stays as it is, whatever it says when it is fetched again: otherwise the others would be
shown nowhere.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from sqlalchemy import Connection, select

from shoal.model import PageRecord
from shoal.store.database.upsert import Upsert, keep_first
from shoal.store.tables import canonicals

_CANONICALS = Upsert(canonicals, keep_first)


def merge(db: Connection, job: str, pages: Iterable[PageRecord], stored: Container[int]) -> None:
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
    owners = select(canonicals.c.canonical, canonicals.c.page).where(canonicals.c.job == job)
    known: dict[int, int] = dict(db.execute(owners.where(canonicals.c.canonical.in_(first))).all())
    for key, page in keyed:
        if known[key] == page.fingerprint:
            continue
        if page.fingerprint not in stored or not _represents_others(db, job, page.fingerprint):
            page.merged_into = known[key]


def _represents_others(db: Connection, job: str, page: int) -> bool:
    owned = select(canonicals.c.page).where(canonicals.c.job == job, canonicals.c.page == page)
    return db.execute(owned.limit(1)).first() is not None
