"""The log that sinks follow: what a save adds to it, and that nothing appears behind a cursor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import pytest

from shoal.store.crawl.change_log import (
    Change,
    ChangedItems,
    ItemName,
    PageChange,
    advanced,
    log_apart,
    next_changes,
)
from shoal.store.crawl.item_rows import staged_id
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.crawl.staged_items import replace_items, stage
from shoal.store.store import Store
from tests.store.make import JOB, dead_letter, item_record, job_with, page

SINKS = ("sqlite:///items.db",)


def book(title: str, key: str | None = None) -> dict[str, object]:
    return {"type": "Book", "data": {"title": title}, "key": key}


def save_page(store: Store, n: int, token: int, *books: dict[str, object], has_sinks: bool = True) -> None:
    items = [item_record(**one) for one in books]  # type: ignore[arg-type]
    save(store, Batch(JOB, pages=[page(n, token, items=items)], has_sinks=has_sinks))


def changes(store: Store, after: dict[int, int] | None = None) -> list[Change]:
    with store.read() as db:
        return next_changes(store, db, JOB, after or {}, 1_000)


def pages_of(found: Sequence[Change]) -> list[int]:
    return [page for change in found for page, _ in change.pages]


def removed_of(found: Sequence[Change]) -> list[ItemName]:
    return [name for change in found for name in change.removed]


@pytest.fixture(autouse=True)
def job(store: Store) -> None:
    job_with(store, sinks=SINKS)


def test_a_save_logs_the_pages_with_items_only(store: Store) -> None:
    save_page(store, 1, 1, book("a"), book("b"))
    save_page(store, 2, 1)
    [change] = changes(store)
    assert (change.pages, change.removed, change.n) == ([PageChange(1, 2)], [], 2)


def test_a_job_without_sinks_has_no_log(store: Store) -> None:
    save_page(store, 1, 1, book("a"), has_sinks=False)
    assert changes(store) == []


def test_a_page_that_is_fetched_again_with_the_same_items_has_not_changed(store: Store) -> None:
    save_page(store, 1, 1, book("a"), book("b", "k"))
    save_page(store, 1, 2, book("a"), book("b", "k"))
    assert pages_of(changes(store)) == [1]


def test_items_that_went_are_named(store: Store) -> None:
    save_page(store, 1, 1, book("a"), book("b"), book("c", "k"))
    save_page(store, 1, 2, book("a"))
    assert sorted(removed_of(changes(store))) == [("Book", f"{JOB}/{1:016x}/1"), ("Book", "k")]


def test_items_of_a_page_that_is_dead_now_are_named(store: Store) -> None:
    save_page(store, 1, 1, book("a", "k"))
    save(store, Batch(JOB, dead=[dead_letter(1, 2)], has_sinks=True))
    assert removed_of(changes(store)) == [("Book", "k")]


def test_an_item_that_another_page_has_taken_over_did_not_go(store: Store) -> None:
    save_page(store, 1, 1, book("a", "k"))
    save_page(store, 2, 2, book("a", "k"))
    save_page(store, 1, 3)
    assert (pages_of(changes(store)), removed_of(changes(store))) == ([1, 2], [])


def test_an_older_lease_changes_nothing(store: Store) -> None:
    save_page(store, 1, 2, book("new"))
    save_page(store, 1, 1, book("old"))
    assert pages_of(changes(store)) == [1]


def test_replaced_items_are_logged_where_they_differ(store: Store) -> None:
    save_page(store, 1, 1, book("same"))
    save_page(store, 2, 1, book("old"), book("x", "k"))
    save_page(store, 3, 1, book("went"))
    after = advanced({}, changes(store))
    stage(
        store,
        [
            replace(page(1, 1, items=[item_record("Book", {"title": "same"})]), job=staged_id(JOB)),
            replace(page(2, 1, items=[item_record("Book", {"title": "new"})]), job=staged_id(JOB)),
        ],
    )
    replace_items(store, JOB, [])
    found = changes(store, after)
    assert pages_of(found) == [2]
    assert sorted(removed_of(found)) == [("Book", f"{JOB}/{3:016x}/0"), ("Book", "k")]


def test_a_change_that_commits_late_is_not_passed_over(store: Store) -> None:
    """Two writers at once: the one that began first, and has the lower id, commits last."""
    if len(store.parts) == 1:
        pytest.skip("SQLite has one writer at a time")
    with ExitStack() as first:
        db = first.enter_context(store.write())
        log_apart(store, db, JOB, ChangedItems([PageChange(1, 1)], []))
        with store.write() as second:
            log_apart(store, second, JOB, ChangedItems([PageChange(2, 1)], []))
        seen = changes(store)
        assert pages_of(seen) == [2]
        after = advanced({}, seen)
    late = changes(store, after)
    assert pages_of(late) == [1] and late[0].id < seen[0].id
    assert changes(store, advanced(after, late)) == []


def test_a_batch_ends_at_a_number_of_items(store: Store) -> None:
    for n in range(1, 6):
        save_page(store, n, 1, book("a"), book("b"))
    cursor: dict[int, int] = {}
    sizes = []
    while True:
        with store.read() as db:
            found = next_changes(store, db, JOB, cursor, 4)
        if not found:
            break
        sizes.append(sum(change.n for change in found))
        cursor = advanced(cursor, found)
    assert sizes == [4, 4, 2]
