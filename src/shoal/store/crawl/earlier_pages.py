"""Pages of earlier jobs, for a job that fetches them again (`--refresh`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, select

from shoal.model import PageContent
from shoal.store.crawl.pack_content import unpack
from shoal.store.database.in_list import in_list
from shoal.store.store import Store
from shoal.store.tables import contents, pages


class EarlierPage(NamedTuple):
    job: str
    fingerprint: int
    status: int
    content_type: str
    digest: str
    etag: str | None
    last_modified: str | None
    tdm_reservation: str | None
    tdm_policy: str | None
    title: str | None
    canonical: str | None
    noindex: bool | None
    nofollow: bool | None
    archive: str | None
    packed: bytes | None
    """The page's content; few callers unpack it. None: the earlier job stored none."""

    def content(self) -> PageContent | None:
        return None if self.packed is None else unpack(self.packed)


_COLUMNS = [contents.c.packed if name == "packed" else pages.c[name] for name in EarlierPage._fields]


def earlier_pages(store: Store, jobs: Sequence[str], fingerprints: Iterable[int]) -> dict[int, EarlierPage]:
    """Maps each fingerprint to its page in the first of these jobs that has one."""
    found: dict[int, EarlierPage] = {}
    missing = set(fingerprints)
    with store.read() as db:
        for job in jobs:
            if not missing:
                break
            found |= _pages_of(db, job, missing)
            missing -= found.keys()
    return found


def _pages_of(db: Connection, job: str, fingerprints: set[int]) -> dict[int, EarlierPage]:
    rows = db.execute(_lookup(db.dialect.name), {"job": job, "fingerprints": list(fingerprints)})
    return {row.fingerprint: EarlierPage(*row) for row in rows}


@cache
def _lookup(dialect: str) -> Select[*tuple[Any, ...]]:
    return (
        select(*_COLUMNS)
        .select_from(pages)
        .outerjoin(contents, (contents.c.job == pages.c.job) & (contents.c.fingerprint == pages.c.fingerprint))
        .where(pages.c.job == bindparam("job"), in_list(dialect, pages.c.fingerprint, "fingerprints"))
    )
