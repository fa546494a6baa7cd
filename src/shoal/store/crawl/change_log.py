"""The log of a job's changed items, which the job's sinks follow. A job without sinks has no log.

A save adds one row in its own transaction. The row names the pages whose items changed, not the items: a sink reads the
items as they are when it comes to the row. So a sink that is behind, or repeats a batch, still ends with the latest
items. The row also names items that went, because the store no longer has them.

In PostgreSQL a row with a lower id may appear after a row with a higher one, because transactions commit in any order.
So each writer locks a part of the log until its commit (`lock_free_part`), and takes ids only under that lock. Within a
part rows therefore appear in the order of their ids, and a sink keeps one position for each part. A position per part
depends neither on transaction numbers, which a restored copy does not keep, nor on other transactions that last long.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import CompoundSelect, Connection, Select, bindparam, exists, func, insert, select, union_all

from shoal.model import fingerprint_hex
from shoal.store.crawl.item_rows import Row
from shoal.store.crawl.save_batch import TALLIES
from shoal.store.results.listings import stream_rows
from shoal.store.store import Store
from shoal.store.tables import changes, items, sinks

CHANGES = "changes"
"""The kind of the tally that counts the changed items of the log."""
_MOST_ROWS = 200
_PAGES_PER_ROW = 128
_REMOVED_PER_ROW = 2_000

Cursor = Mapping[int, int]
"""Part -> id of the last change."""


class ItemName(NamedTuple):
    """Identifies an item in a sink."""

    type: str
    id: str


class PageChange(NamedTuple):
    page: int
    items: int


class Change(NamedTuple):
    id: int
    part: int
    at: float
    n: int
    pages: list[PageChange]
    removed: list[ItemName]


class ChangedItems(NamedTuple):
    """What a save changed."""

    pages: list[PageChange]
    removed: list[ItemName]

    def with_pages(self, more: Iterable[PageChange]) -> ChangedItems:
        known = {page.page for page in self.pages}
        return ChangedItems([*self.pages, *(page for page in more if page.page not in known)], self.removed)

    @property
    def tally(self) -> tuple[str, str]:
        return CHANGES, ""

    @property
    def n(self) -> int:
        # A page without items counts too: a sink must come to it.
        return sum(max(1, page.items) for page in self.pages) + len(self.removed)


def item_id(job: str, page: int, ordinal: int, key: str | None) -> str:
    """An item with a key has the same id in every job. Any other is known by its place."""
    return f"{place_prefix(job, page)}{ordinal}" if key is None else key


def place_prefix(job: str, page: int) -> str:
    """The ids of all items without a key of one page begin so; their ordinals follow."""
    return f"{job}/{fingerprint_hex(page)}/"


def changed_items(old: Iterable[Row], new: Iterable[Row], always: Iterable[int] = ()) -> ChangedItems:
    """Compares rows of the table `items` by page. Pages in `always` count as changed even without items."""
    before, after = _by_page(old), _by_page(new)
    changed = [page for page in {**before, **after} if _differs(before.get(page), after.get(page))]
    pages = [PageChange(page, len(after.get(page, ()))) for page in dict.fromkeys([*changed, *always])]
    removed = dict.fromkeys(_name(row) for page in changed for row in before.get(page, ()))
    # Most pages are new: then nothing has to be looked for among their items.
    kept = {_name(row) for page in changed for row in after.get(page, ())} if removed else set()
    return ChangedItems(pages, [name for name in removed if name not in kept])


def log_changes(db: Connection, job: str, part: int, found: ChangedItems) -> None:
    """Logs what changed. The transaction must hold the part of the job."""
    packed = json.dumps([found.pages, found.removed], separators=(",", ":"))
    db.execute(insert(changes).values(job=job, part=part, at=time.time(), n=found.n, packed=packed))


def log_apart(store: Store, db: Connection, job: str, found: ChangedItems) -> None:
    """Logs what changed outside of a save, if the job has sinks."""
    if (found.pages or found.removed) and has_sinks(db, job):
        part = store.lock_free_part(db, job)
        TALLIES.write(db, [(job, CHANGES, "", part, found.n, None)])
        log_changes(db, job, part, found)


def log_replacement(store: Store, db: Connection, job: str, staged: str) -> None:
    """Logs what changes if the staged items replace those of the job, if the job has sinks."""
    if not has_sinks(db, job):
        return
    pages = stream_rows(db, _differing_pages(job, staged))
    while some := [PageChange(row.page, row.n) for row in islice(pages, _PAGES_PER_ROW)]:
        log_apart(store, db, job, ChangedItems(some, []))
    for gone in _gone(job, staged):
        rows = stream_rows(db, gone)
        while names := [_name((job, *row)) for row in islice(rows, _REMOVED_PER_ROW)]:
            log_apart(store, db, job, ChangedItems([], names))


def _differing_pages(job: str, staged: str) -> Select[*tuple[Any, ...]]:
    new, old = items.alias("new"), items.alias("old")
    same_place = (old.c.job == job) & (old.c.page == new.c.page) & (old.c.ordinal == new.c.ordinal)
    same_value = (old.c.type == new.c.type) & (old.c.data == new.c.data) & old.c.key.is_not_distinct_from(new.c.key)
    unlike = ~exists().where(same_place, same_value)
    differing = select(new.c.page).where(new.c.job == staged, unlike).distinct()
    of_staged = select(items.c.page, func.count().label("n")).where(items.c.job == staged)
    return of_staged.where(items.c.page.in_(differing)).group_by(items.c.page)


def _gone(job: str, staged: str) -> tuple[Select[*tuple[Any, ...]], Select[*tuple[Any, ...]]]:
    """Items of the job that are not among the staged ones: those with a key, and those without."""
    new = items.alias("new")
    names = select(items.c.page, items.c.ordinal, items.c.type, items.c.key).where(items.c.job == job)
    like = (new.c.job == staged) & (new.c.type == items.c.type)
    same_key = like & (new.c.key == items.c.key)
    same_place = like & (new.c.page == items.c.page) & (new.c.ordinal == items.c.ordinal) & new.c.key.is_(None)
    keyed = names.where(items.c.key.is_not(None), ~exists().where(same_key))
    return keyed, names.where(items.c.key.is_(None), ~exists().where(same_place))


def has_sinks(db: Connection, job: str) -> bool:
    return db.execute(select(sinks.c.job).where(sinks.c.job == job).limit(1)).first() is not None


def next_changes(store: Store, db: Connection, job: str, cursor: Cursor, most_items: int) -> list[Change]:
    """The changes after the cursor, oldest first: about as many as have `most_items`, and at least one."""
    found: list[Change] = []
    n = 0
    for row in _after(store, db, job, cursor, _MOST_ROWS):
        if found and n + row.n > most_items:
            break
        found.append(_change(row))
        n += row.n
    return found


def changes_until(store: Store, db: Connection, job: str, cursor: Cursor, end: Cursor) -> list[Change]:
    """The changes after one cursor, up to another that `next_changes` led to."""
    rows = _after(store, db, job, cursor, _MOST_ROWS)
    return [_change(row) for row in rows if row.id <= end.get(row.part, 0)]


def advanced(cursor: Cursor, passed: Sequence[Change]) -> dict[int, int]:
    ends = {change.part: change.id for change in passed}
    return {**cursor, **ends}


def oldest_after(store: Store, job: str, cursor: Cursor) -> float | None:
    """When the first change after the cursor was made."""
    with store.read() as db:
        rows = _after(store, db, job, cursor, 1)
    return min((row.at for row in rows), default=None)


def _after(store: Store, db: Connection, job: str, cursor: Cursor, most: int) -> Sequence[Any]:
    """Rows, not read yet: many are far ahead of what is wanted."""
    after = {f"after_{part}": cursor.get(part, 0) for part in store.parts}
    return db.execute(_query(store.parts), {"job": job, "most": most, **after}).all()


@cache
def _query(parts: range) -> CompoundSelect[*tuple[Any, ...]]:
    """One look into the index for each part; a plain OR would read and sort all rows that are left."""
    columns = changes.c.id, changes.c.part, changes.c.at, changes.c.n, changes.c.packed
    each = [
        select(
            select(*columns)
            .where(changes.c.job == bindparam("job"), changes.c.part == part, changes.c.id > bindparam(f"after_{part}"))
            .order_by(changes.c.id)
            .limit(bindparam("most"))
            .subquery(f"part_{part}")
        )
        for part in parts
    ]
    every = union_all(*each)
    return every.order_by("id").limit(bindparam("most"))


def _change(row: Any) -> Change:
    pages, removed = json.loads(row.packed)
    return Change(
        row.id, row.part, row.at, row.n, [PageChange(*page) for page in pages], [ItemName(*name) for name in removed]
    )


def _by_page(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row[1], []).append(row)
    return found


def _differs(old: Iterable[Row] | None, new: Iterable[Row] | None) -> bool:
    if old is None or new is None:
        return True
    # Without the token: a page that was fetched again with the same items has not changed.
    return {tuple(row[:6]) for row in old} != {tuple(row[:6]) for row in new}


def _name(row: Row) -> ItemName:
    job, page, ordinal, type, key = row[:5]
    return ItemName(type, item_id(job, page, ordinal, key))
