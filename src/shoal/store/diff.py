"""What differs between two jobs: pages and items that were added, are gone, or have changed.

A page is the same by its fingerprint and has changed if its digest has. An item is the same by type and key and has
changed if its data has; without a key it is the same by type and data, so it is added or gone. Everything is a stream
over one snapshot, of which the database holds the joins and Python a bounded number of rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Select, and_, select

from shoal.model import fingerprint_hex
from shoal.store import tables
from shoal.store.records import streamed
from shoal.store.store import Store

ADDED = "added"
GONE = "gone"
CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class PageDifference:
    change: str
    url: str
    fingerprint: int
    status: int
    digest: str
    """Of the later job, unless the page is gone."""
    status_before: int | None = None
    digest_before: str | None = None

    def as_dict(self) -> dict[str, Any]:
        record = {
            "kind": "page",
            "change": self.change,
            "url": self.url,
            "fingerprint": fingerprint_hex(self.fingerprint),
            "status": self.status,
            "digest": self.digest,
        }
        before = {"status_before": self.status_before, "digest_before": self.digest_before}
        return {**record, **before} if self.change == CHANGED else record


@dataclass(frozen=True, slots=True)
class ItemDifference:
    change: str
    type: str
    key: str | None
    url: str
    """Of the page it was found on."""
    data: dict[str, Any]
    """Of the later job, unless the item is gone."""
    data_before: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        record = {
            "kind": "item",
            "change": self.change,
            "type": self.type,
            "key": self.key,
            "url": self.url,
            "data": self.data,
        }
        return {**record, "data_before": self.data_before} if self.change == CHANGED else record


Difference = PageDifference | ItemDifference


def differences(store: Store, before: str, after: str) -> Iterator[Difference]:
    """First the pages, in the order of the crawls, then the items; of each what the later job has, then what is gone.

    Close or exhaust it: until then it holds a connection.
    """
    with store.read() as db:
        yield from _new_pages(db, before, after)
        for row in streamed(db, _pages(after, before).where(_OTHER_PAGE.c.job.is_(None))):
            yield PageDifference(GONE, *row[:4])
        yield from _keyed_items(db, before, after)
        yield from _items_without_key(db, ADDED, before, after)
        yield from _items_without_key(db, GONE, after, before)


_SEPARATOR = "\x1f"
_PAGE = tables.pages
_OTHER_PAGE = _PAGE.alias("other_page")
_ITEM = tables.items
_OTHER_ITEM = _ITEM.alias("other_item")


def _new_pages(db: Connection, before: str, after: str) -> Iterator[PageDifference]:
    differing = _OTHER_PAGE.c.job.is_(None) | (_OTHER_PAGE.c.digest != _PAGE.c.digest)
    for row in streamed(db, _pages(before, after).where(differing)):
        yield PageDifference(ADDED if row.digest_before is None else CHANGED, *row)


def _pages(other: str, job: str) -> Select[*tuple[Any, ...]]:
    """The pages of a job, each beside the other job's page of the same request."""
    same = and_(_OTHER_PAGE.c.job == other, _OTHER_PAGE.c.fingerprint == _PAGE.c.fingerprint)
    told = (_PAGE.c.url, _PAGE.c.fingerprint, _PAGE.c.status, _PAGE.c.digest)
    earlier = (_OTHER_PAGE.c.status.label("status_before"), _OTHER_PAGE.c.digest.label("digest_before"))
    return (
        select(*told, *earlier)
        .select_from(_PAGE)
        .outerjoin(_OTHER_PAGE, same)
        .where(_PAGE.c.job == job)
        .order_by(_PAGE.c.fetched_at)
    )


def _keyed_items(db: Connection, before: str, after: str) -> Iterator[ItemDifference]:
    differing = _OTHER_ITEM.c.data.is_(None) | (_OTHER_ITEM.c.data != _ITEM.c.data)
    for type, key, url, data, data_before in streamed(db, _items_with_key(before, after).where(differing)):
        now = json.loads(data)
        if data_before is None:
            yield ItemDifference(ADDED, type, key, url, now)
        # The same fields in another order are other text, but the same item.
        elif (then := json.loads(data_before)) != now:
            yield ItemDifference(CHANGED, type, key, url, now, then)
    missing = _items_with_key(after, before).where(_OTHER_ITEM.c.data.is_(None))
    for type, key, url, data, _ in streamed(db, missing):
        yield ItemDifference(GONE, type, key, url, json.loads(data))


def _items_with_key(other: str, job: str) -> Select[*tuple[Any, ...]]:
    """The items of a job that have a key, each beside the other job's item of the same type and key."""
    same = and_(_OTHER_ITEM.c.job == other, _OTHER_ITEM.c.type == _ITEM.c.type, _OTHER_ITEM.c.key == _ITEM.c.key)
    return _items(job).add_columns(_OTHER_ITEM.c.data).outerjoin(_OTHER_ITEM, same).where(_ITEM.c.key.is_not(None))


def _items_without_key(db: Connection, change: str, other: str, job: str) -> Iterator[ItemDifference]:
    """The items that the job has and the other has not."""
    # NOT IN, for which both databases index the other job's items once; a join took PostgreSQL minutes while it had no
    # statistics of the table. And of one text, because with a pair of columns the same took SQLite 50 times as long
    # (50,000 items in each job: 4.2 s against 0.09 s).
    others = select(_identity(_OTHER_ITEM)).where(_OTHER_ITEM.c.job == other, _OTHER_ITEM.c.key.is_(None))
    only_here = _identity(_ITEM).not_in(others)
    for type, key, url, data in streamed(db, _items(job).where(_ITEM.c.key.is_(None), only_here)):
        yield ItemDifference(change, type, key, url, json.loads(data))


def _identity(items: FromClause) -> ColumnElement[str]:
    return items.c.type + _SEPARATOR + items.c.data


def _items(job: str) -> Select[*tuple[Any, ...]]:
    of_page = and_(_PAGE.c.job == _ITEM.c.job, _PAGE.c.fingerprint == _ITEM.c.page)
    return (
        select(_ITEM.c.type, _ITEM.c.key, _PAGE.c.url, _ITEM.c.data)
        .select_from(_ITEM)
        .join(_PAGE, of_page)
        .where(_ITEM.c.job == job)
        .order_by(_ITEM.c.page, _ITEM.c.ordinal)
    )
