"""Reads a batch for a sink: the next changes of the log, and the items of their pages as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from sqlalchemy import Connection, select, tuple_

from shoal.sinks.destination import SinkItem
from shoal.store.crawl.change_log import (
    Change,
    ItemName,
    PageChange,
    advanced,
    changes_until,
    item_id,
    next_changes,
    place_prefix,
)
from shoal.store.crawl.sink_state import SinkState, has_refused, refused_again, refused_of_pages
from shoal.store.store import Store
from shoal.store.tables import drops, items, pages

ITEMS_AT_ONCE = 2_000
"""About how many items a batch has."""
_LOOKED_UP_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What a batch is about to deliver."""

    changes: Sequence[Change]
    end: Mapping[int, int]
    """The cursor after it."""
    tried: Sequence[ItemName]
    """Items that the sink refused before and that are tried again."""
    retried_pages: Sequence[int]

    @property
    def n(self) -> int:
        return sum(change.n for change in self.changes)

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.retried_pages

    @property
    def pages(self) -> list[PageChange]:
        """Each once, with its highest number of items."""
        found = dict.fromkeys(self.retried_pages, 1)
        for change in self.changes:
            for page, n in change.pages:
                found[page] = max(n, found.get(page, 0))
        return [PageChange(page, n) for page, n in found.items()]


def plan(store: Store, db: Connection, state: SinkState, position: Mapping[int, int], retries: bool) -> BatchPlan:
    """The next batch after the position, which may be ahead of the stored cursor; with `retries` also what was refused
    before and is to be tried again."""
    job = state.key.job
    if state.planned is not None:
        changes = changes_until(store, db, job, position, state.planned)
    else:
        changes = next_changes(store, db, job, position, ITEMS_AT_ONCE)
    again = refused_again(db, state.key, ITEMS_AT_ONCE) if retries else []
    touched = [page for change in changes for page, _ in change.pages]
    tried = [name for name, _ in again]
    if changes and has_refused(db, state.key):
        tried += refused_of_pages(db, state.key, touched)
        tried += [name for change in changes for name in change.removed]
    retried = list(dict.fromkeys(page for _, page in again))
    return BatchPlan(changes, advanced(position, changes), tried, retried)


def read_chunks(db: Connection, job: str, wanted: Iterable[PageChange], at_once: int) -> Iterator[list[SinkItem]]:
    """The items of these pages as they are now. The same pages always give the same chunks of pages."""
    for some in _grouped(wanted, at_once):
        yield _items_of(db, job, some)


def read_removed(db: Connection, job: str, changes: Sequence[Change]) -> list[ItemName]:
    """Removed items that have not come back since."""
    names = dict.fromkeys(name for change in changes for name in change.removed)
    return [name for name in names if name not in _still_there(db, job, list(names))] if names else []


def read_outdated(db: Connection, job: str, earlier: Sequence[str], of: Sequence[PageChange]) -> list[ItemName]:
    """Items with a key that earlier jobs took from these pages, and that this job has not found again."""
    found: dict[ItemName, None] = {}
    for start in range(0, len(of), _LOOKED_UP_AT_ONCE):
        some = [page for page, _ in of[start : start + _LOOKED_UP_AT_ONCE]]
        given = select(items.c.type, items.c.key).where(
            items.c.job.in_(earlier), items.c.page.in_(some), items.c.key.is_not(None)
        )
        found |= dict.fromkeys(ItemName(type, key) for type, key in db.execute(given.distinct()))
    there = _still_there(db, job, list(found))
    return [name for name in found if name not in there]


def _grouped(wanted: Iterable[PageChange], at_once: int) -> Iterator[list[int]]:
    some: list[int] = []
    n = 0
    for page, size in wanted:
        if some and (n + size > at_once or len(some) == _LOOKED_UP_AT_ONCE):
            yield some
            some, n = [], 0
        some.append(page)
        n += size
    if some:
        yield some


def _items_of(db: Connection, job: str, some: Sequence[int]) -> list[SinkItem]:
    columns = items.c.page, items.c.ordinal, items.c.type, items.c.key, items.c.data
    found = select(*columns).where(items.c.job == job, items.c.page.in_(some)).order_by(items.c.page, items.c.ordinal)
    rows = db.execute(found).all()
    origins = _origins(db, job, some) if rows else {}
    given: list[SinkItem] = []
    for page, of_page in groupby(rows, key=itemgetter(0)):
        url, at = origins.get(page, (None, None))
        prefix = place_prefix(job, page)
        given += (
            SinkItem(ItemName(type, f"{prefix}{ordinal}" if key is None else key), page, url, data, at)
            for _, ordinal, type, key, data in of_page
        )
    return given


def _origins(db: Connection, job: str, some: Sequence[int]) -> dict[int, tuple[str, float]]:
    """Page -> its URL, and when it was fetched."""
    origins: dict[int, tuple[str, float]] = {}
    for table, happened in ((pages, pages.c.fetched_at), (drops, drops.c.dropped_at)):
        missing = [page for page in some if page not in origins]
        columns = table.c.fingerprint, table.c.url, happened
        of = select(*columns).where(table.c.job == job, table.c.fingerprint.in_(missing))
        origins |= {page: (url, at) for page, url, at in db.execute(of)} if missing else {}
    return origins


def _still_there(db: Connection, job: str, names: Sequence[ItemName]) -> set[ItemName]:
    there: set[ItemName] = set()
    for start in range(0, len(names), _LOOKED_UP_AT_ONCE):
        some = names[start : start + _LOOKED_UP_AT_ONCE]
        keyed = select(items.c.type, items.c.key).where(
            items.c.job == job, tuple_(items.c.type, items.c.key).in_([tuple(name) for name in some])
        )
        there |= {ItemName(type, key) for type, key in db.execute(keyed)}
        places = [place for name in some if (place := _place(job, name)) is not None]
        alone = select(items.c.page, items.c.ordinal, items.c.type).where(
            items.c.job == job, tuple_(items.c.page, items.c.ordinal).in_(places), items.c.key.is_(None)
        )
        if places:
            there |= {ItemName(type, item_id(job, page, n, None)) for page, n, type in db.execute(alone)}
    return there


def _place(job: str, name: ItemName) -> tuple[int, int] | None:
    """Page and ordinal of an item without a key."""
    prefix, _, ordinal = name.id.rpartition("/")
    of, _, page = prefix.partition("/")
    if of != job or len(page) != 16 or not ordinal.isdecimal():
        return None
    try:
        unsigned = int(page, 16)
        return unsigned - (1 << 64) * (unsigned >> 63), int(ordinal)
    except ValueError:
        return None
