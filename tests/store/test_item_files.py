"""The file fields of items, whichever is saved first: the item or its file."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, delete, event, select

from shoal.model import PageRecord
from shoal.store.crawl.change_log import next_changes
from shoal.store.crawl.item_files import file_requests
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.store import Store
from shoal.store.tables import files, items, jobs, pages
from tests.store.make import JOB, dead_letter, item_record, job_with, page, redirect, url

EMPTY = {"path": None, "bytes": None, "digest": None, "content_type": None, "error": None}


def book(n: int, *files: int, token: int = 1, **values: Any) -> PageRecord:
    """A page with one item, whose images are the requests `files`."""
    images = [{"url": url(file), **EMPTY} for file in files]
    record = page(n, token, items=[item_record("Book", {"images": images})], **values)
    record.files = {file: [url(file)] for file in files}
    return record


def image(n: int, token: int = 1, **values: Any) -> PageRecord:
    return page(n, token, **{"content_type": "image/png", "archive": f"a:{n}", "digest": f"{n:032x}", **values})


def saved(store: Store, **batch: Any) -> None:
    save(store, Batch(JOB, has_files=True, has_sinks=True, **batch))


def images_of(store: Store, n: int) -> list[dict[str, Any]]:
    with store.read() as db:
        data = db.execute(select(items.c.data).where(items.c.job == JOB, items.c.page == n)).scalar_one()
    found: list[dict[str, Any]] = json.loads(data)["images"]
    return found


def test_a_field_is_completed_whichever_comes_first(store: Store) -> None:
    job_with(store)
    saved(store, pages=[book(1, 10, 11)])
    assert images_of(store, 1)[0] == {"url": url(10), **EMPTY}
    saved(store, pages=[image(10)])
    assert images_of(store, 1)[0]["path"] == f"00/{10:032x}.png"
    assert images_of(store, 1)[1] == {"url": url(11), **EMPTY}
    saved(store, pages=[book(2, 10)])
    assert images_of(store, 2) == images_of(store, 1)[:1]
    saved(store, pages=[image(12), book(3, 12)])
    assert images_of(store, 3)[0]["bytes"] == 1000


def test_failures_and_redirects_are_in_the_field(store: Store) -> None:
    job_with(store)
    saved(store, pages=[book(1, 10, 11, 12, 13)])
    saved(
        store,
        pages=[image(10, status=404), image(13, archive=None)],
        dead=[dead_letter(11)],
        redirects=[redirect(12, 20)],
    )
    saved(store, pages=[image(20)])
    missing, dead, moved, unarchived = images_of(store, 1)
    assert (missing["error"], dead["error"], unarchived["error"]) == ("status 404", "timeout", "not in the archive")
    assert (moved["url"], moved["digest"], moved["error"]) == (url(12), f"{20:032x}", None)
    saved(store, pages=[image(11, token=2)])
    assert images_of(store, 1)[1]["error"] is None


def test_an_item_that_is_saved_again_keeps_its_file(store: Store) -> None:
    job_with(store)
    saved(store, pages=[book(1, 10), image(10)])
    saved(store, pages=[book(1, 10, token=2)])
    assert images_of(store, 1)[0]["bytes"] == 1000


def test_sinks_hear_of_the_page_of_a_completed_item(store: Store) -> None:
    job_with(store, sinks=("sqlite:///x.db",))
    saved(store, pages=[book(1, 10)])
    saved(store, pages=[image(10)])
    with store.read() as db:
        changes = next_changes(store, db, JOB, {}, 100)
    assert [[changed.page for changed in change.pages] for change in changes] == [[1], [1]]


def test_files_of_one_page_that_are_saved_at_once_all_arrive(store: Store) -> None:
    job_with(store)
    numbers = range(10, 26)
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(saved, store, pages=[book(1, *numbers)])
        others = [threads.submit(saved, store, pages=[image(n)]) for n in numbers]
        for each in (first, *others):
            each.result()
    assert all(image["bytes"] == 1000 for image in images_of(store, 1))


def test_files_that_redirect_to_the_same_one_are_all_completed(store: Store) -> None:
    job_with(store)
    saved(store, pages=[book(1, 10, 11, 12)])
    saved(store, redirects=[redirect(10, 20), redirect(11, 20)])
    saved(store, redirects=[redirect(12, 20)])
    saved(store, pages=[image(20)])
    assert [image["bytes"] for image in images_of(store, 1)] == [1000] * 3
    saved(store, pages=[book(2, 10, 11)])
    assert [image["bytes"] for image in images_of(store, 2)] == [1000] * 2


def test_redirects_in_a_circle_complete_nothing(store: Store) -> None:
    job_with(store)
    saved(store, pages=[book(1, 10)], redirects=[redirect(10, 11), redirect(11, 10)])
    assert images_of(store, 1) == [{"url": url(10), **EMPTY}]


def test_a_file_that_many_pages_share_is_looked_up_for_the_new_page_only(store: Store) -> None:
    job_with(store)
    saved(store, pages=[image(10)])

    def statements(n: int) -> int:
        seen: list[str] = []

        def note(_db: object, _cursor: object, statement: str, *_: object) -> None:
            seen.append(statement)

        event.listen(Engine, "before_cursor_execute", note)
        try:
            saved(store, pages=[book(n, 10)])
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        return len(seen)

    first = statements(1)
    for n in range(2, 9):
        assert statements(n) <= first
    assert images_of(store, 8)[0]["bytes"] == 1000


def test_saves_with_different_files_do_not_wait_for_one_another(shared_database: str) -> None:
    """On PostgreSQL: SQLite has one writer."""
    with Store.open(shared_database) as store, ThreadPoolExecutor(1) as threads:
        job_with(store, id="parallel")
        try:
            with store.write() as other:
                # As a save does that links the file 10, and takes long.
                store.lock_files(other, "parallel", alone=False)
                store.lock_requests(other, "parallel", [1, 10])
                save(store, Batch("parallel", pages=[of_job(book(2, 11)), of_job(image(74))], has_files=True))
                waiting = threads.submit(save, store, Batch("parallel", pages=[of_job(image(10))], has_files=True))
                with pytest.raises(TimeoutError):
                    waiting.result(0.5)
            waiting.result(60)
        finally:
            remove_rows(store, "parallel")


def test_a_redirected_file_that_ends_while_a_page_is_saved_is_completed(store: Store) -> None:
    job_with(store)
    saved(store, redirects=[redirect(10, 20)])
    with ThreadPoolExecutor(2) as threads:
        for start in range(100, 160, 3):
            saved(store, redirects=[redirect(start, start + 1)])
            last = threads.submit(saved, store, pages=[image(start + 1)])
            first = threads.submit(saved, store, pages=[book(start + 2, start)])
            for each in (first, last):
                each.result(60)
            assert images_of(store, start + 2)[0]["bytes"] == 1000


def of_job(record: PageRecord) -> PageRecord:
    return replace(record, job="parallel")


def remove_rows(store: Store, job: str) -> None:
    with store.write() as db:
        for table in (items, files, pages, jobs):
            column = table.c.id if table is jobs else table.c.job
            db.execute(delete(table).where(column == job))


def test_a_batch_may_link_more_files_than_a_server_has_locks(store: Store) -> None:
    job_with(store)
    many = [page(n) for n in range(1, 31)]
    for record in many:
        record.files = {record.fingerprint * 1_000_000 + n: ["https://site.test/"] for n in range(1_000)}
    saved(store, pages=many)
    assert len(file_requests(store, JOB)) == 30_000
