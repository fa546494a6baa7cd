from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shoal.model import ItemRecord, PageContent, PageRecord
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results.job_diff import differences
from shoal.store.store import Store
from tests.store.make import item_record, job_with, page, url
from tests.store.memory import peak_memory


@pytest.fixture(autouse=True)
def jobs(store: Store) -> None:
    for id in ("one", "two", "other"):
        job_with(store, id=id)


def keep(store: Store, job: str, *pages: PageRecord) -> None:
    save(store, Batch(job, pages=[replace(page, job=job) for page in pages]))


def giving(n: int, *items: ItemRecord) -> PageRecord:
    return page(n, items=list(items))


def book(title: str, key: str | None = None, **more: Any) -> ItemRecord:
    return item_record("Book", {"title": title, **more}, key)


def told(store: Store, before: str = "one", after: str = "two") -> list[dict[str, Any]]:
    return [one.as_dict() for one in differences(store, before, after)]


def test_pages_come_in_crawl_order_then_those_that_are_gone(store: Store) -> None:
    keep(store, "one", page(1), page(2, digest="old"), page(3), page(-4))
    keep(store, "two", page(1), page(5), page(2, digest="new", status=404), page(-4))
    keep(store, "other", page(9))
    assert told(store) == [
        {
            "kind": "page",
            "change": "changed",
            "url": url(2),
            "fingerprint": f"{2:016x}",
            "status": 404,
            "digest": "new",
            "status_before": 200,
            "digest_before": "old",
            "change_kind": "content",
        },
        _page("added", 5),
        _page("gone", 3),
    ]


def _page(change: str, n: int) -> dict[str, Any]:
    return {
        "kind": "page",
        "change": change,
        "url": url(n),
        "fingerprint": f"{n:016x}",
        "status": 200,
        "digest": "d" * 32,
    }


def test_in_the_reverse_diff_added_pages_are_gone(store: Store) -> None:
    keep(store, "one", giving(1, book("a", "k"), book("b")))
    keep(store, "two", giving(2, book("c")))
    swap = {"added": "gone", "gone": "added"}
    there = [(one["kind"], swap[one["change"]], one["url"]) for one in told(store)]
    back = [(one["kind"], one["change"], one["url"]) for one in told(store, "two", "one")]
    assert sorted(there) == sorted(back) and len(back) == 5


def test_an_unmodified_page_is_no_difference(store: Store) -> None:
    keep(store, "one", page(1))
    keep(store, "two", page(1, status=304, changed=False))
    assert told(store) == []


def test_items_are_matched_by_type_and_key_on_any_page(store: Store) -> None:
    keep(store, "one", giving(1, book("same", "a"), book("old", "b"), book("x", "c")), page(2))
    shop = item_record("Shop", {"title": "x"}, "c")
    keep(store, "two", page(1), giving(2, book("same", "a"), book("new", "b"), shop))
    item = {"kind": "item", "type": "Book", "url": url(2)}
    assert told(store) == [
        {**item, "change": "changed", "key": "b", "data": {"title": "new"}, "data_before": {"title": "old"}},
        {**item, "change": "added", "type": "Shop", "key": "c", "data": {"title": "x"}},
        {**item, "change": "gone", "key": "c", "data": {"title": "x"}, "url": url(1)},
    ]


def test_the_same_fields_in_another_order_are_no_change(store: Store) -> None:
    keep(store, "one", giving(1, item_record("Book", {"a": 1, "b": 2}, "k")))
    keep(store, "two", giving(1, item_record("Book", {"b": 2, "a": 1}, "k")))
    assert told(store) == []


def test_items_without_a_key_are_matched_by_type_and_data(store: Store) -> None:
    keep(store, "one", giving(1, book("same"), book("old")))
    keep(store, "two", giving(1, book("new"), book("same"), item_record("Shop", {"title": "same"})))
    assert [(one["change"], one["type"], one["data"]["title"]) for one in told(store)] == [
        ("added", "Book", "new"),
        ("added", "Shop", "same"),
        ("gone", "Book", "old"),
    ]


def test_many_differences_stream_in_bounded_memory(store: Store) -> None:
    keep(store, "two", *(giving(n, *(book(f"{n} {m}" * 10) for m in range(20))) for n in range(1000)))
    with peak_memory() as peak:
        assert sum(1 for _ in differences(store, "one", "two")) == 21_000
    assert peak.bytes < 3_000_000 < 21_000 * 300


def test_a_page_whose_text_is_the_same_has_changed_in_markup_only(store: Store) -> None:
    def written(n: int, digest: str, text: str) -> PageRecord:
        return page(n, digest=digest, content=PageContent(None, None, text, []))

    keep(store, "one", written(1, "a", "A lamp 06:55:12"), written(2, "a", "A lamp"), page(3, digest="a"))
    keep(store, "two", written(1, "b", "A  lamp 07:00:00"), written(2, "b", "A table"), page(3, digest="b"))
    assert {one["url"]: one["change_kind"] for one in told(store)} == {
        url(1): "markup",
        url(2): "content",
        url(3): "content",
    }
