from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from shoal.errors import UsageError
from shoal.model import ItemRecord, PageRecord, RejectRecord
from shoal.model.field_type import TEXT, FieldType
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results.items import item_table, item_types, list_items, list_rejects, save_item_types
from shoal.store.results.job_figures import stored_figures
from shoal.store.store import Store
from tests.store.make import JOB, dead_letter, item_record, item_type, job_with, page, url
from tests.store.memory import peak_memory


@pytest.fixture(autouse=True)
def job(store: Store) -> None:
    job_with(store)


def book(title: str, key: str | None = None, **more: Any) -> ItemRecord:
    return item_record("Book", {"title": title, **more}, key)


def giving(n: int, token: int, *items: ItemRecord, rejects: tuple[RejectRecord, ...] = ()) -> PageRecord:
    return page(n, token, items=list(items), rejects=list(rejects))


def save_pages(store: Store, *pages: PageRecord) -> None:
    save(store, Batch(JOB, pages=list(pages)))


def titles(store: Store) -> list[str]:
    return [item["title"] for item in list_items(store, JOB, {})]


def test_items_come_in_the_order_of_the_crawl_with_their_fields_and_nothing_else(store: Store) -> None:
    save_pages(store, giving(9, 1, book("d")), giving(2, 2, book("b", n=1), book("c", n=2)), giving(1, 3, book("a")))
    assert titles(store) == ["a", "b", "c", "d"]
    assert [list(item) for item in list_items(store, JOB, {})] == [["title"], ["title", "n"], ["title", "n"], ["title"]]


def test_provenance_follows_the_fields(store: Store) -> None:
    save_pages(store, giving(-2, 1, book("a")))
    (item,) = list_items(store, JOB, {}, provenance=True)
    assert list(item.items()) == [("title", "a"), ("_url", url(-2)), ("_page", "fffffffffffffffe"), ("_type", "Book")]


def test_items_can_be_filtered_only_by_type(store: Store) -> None:
    save_pages(store, giving(1, 1, book("a"), item_record("Shop", {"name": "s"})))
    assert list(list_items(store, JOB, {"type": "Shop"})) == [{"name": "s"}]
    with pytest.raises(UsageError, match="cannot filter by 'colour': choose from type"):
        list(list_items(store, JOB, {"colour": "red"}))


def test_all_items_of_a_page_are_replaced_together(store: Store) -> None:
    reject = RejectRecord("Book", {"title": None}, "title: nothing matches")
    save_pages(store, giving(1, 1, book("a"), book("b"), rejects=(reject, reject)))
    save_pages(store, giving(1, 2, book("c")))
    assert (titles(store), list(list_rejects(store, JOB, {}))) == (["c"], [])


def test_an_older_lease_changes_no_items(store: Store) -> None:
    save_pages(store, giving(1, 5, book("new")))
    reject = RejectRecord("Book", {}, "old")
    save_pages(store, giving(1, 4, book("old"), book("older"), rejects=(reject,)))
    assert (titles(store), list(list_rejects(store, JOB, {}))) == (["new"], [])


def test_a_page_that_becomes_a_dead_letter_loses_its_items(store: Store) -> None:
    save_pages(store, giving(1, 1, book("a", "k"), rejects=(RejectRecord("Book", {}, "r"),)), giving(2, 2, book("b")))
    save(store, Batch(JOB, dead=[dead_letter(1, 3, reason="callback")]))
    figures = stored_figures(store, JOB)
    assert (titles(store), figures.items, figures.rejected) == (["b"], 1, 0)


def test_rejects_are_listed_with_data_reason_and_page(store: Store) -> None:
    rejects = (RejectRecord("Book", {"price": "soon"}, "price: it holds no digit"), RejectRecord("Shop", {}, "empty"))
    save_pages(store, giving(1, 1, book("a"), rejects=rejects))
    first, second = list_rejects(store, JOB, {})
    assert first == {
        "type": "Book",
        "reason": "price: it holds no digit",
        "data": {"price": "soon"},
        "url": url(1),
        "page": f"{1:016x}",
    }
    assert list(list_rejects(store, JOB, {"type": "Shop"})) == [second]
    assert stored_figures(store, JOB).rejected == 2


class TestItemsWithTheSameKey:
    def test_the_last_one_found_on_any_page_wins(self, store: Store) -> None:
        save_pages(store, giving(1, 1, book("old", "k"), book("other", "x")))
        save_pages(store, giving(2, 2, book("new", "k")))
        assert titles(store) == ["other", "new"]

    def test_one_of_an_older_lease_is_ignored_even_if_saved_later(self, store: Store) -> None:
        save_pages(store, giving(1, 2, book("new", "k")))
        save_pages(store, giving(2, 1, book("old", "k"), book("other", "x")))
        assert titles(store) == ["new", "other"]

    @pytest.mark.parametrize("tokens", [(1, 2), (2, 1)])
    def test_the_newer_lease_wins_between_two_pages_of_a_batch(self, store: Store, tokens: tuple[int, int]) -> None:
        save_pages(store, *(giving(token, token, book(f"t{token}", "k")) for token in tokens))
        assert titles(store) == ["t2"]

    def test_on_one_page_the_later_one_wins(self, store: Store) -> None:
        save_pages(store, giving(1, 1, book("a", "k"), book("b"), book("c", "k")))
        assert sorted(titles(store)) == ["b", "c"]

    def test_saving_a_page_again_keeps_an_item_that_belongs_to_another_page_by_now(self, store: Store) -> None:
        first = giving(1, 1, book("old", "k"), book("mine"))
        save_pages(store, first)
        save_pages(store, giving(2, 2, book("new", "k")))
        save_pages(store, first)
        assert titles(store) == ["mine", "new"]
        save_pages(store, giving(1, 3, book("mine")))
        assert titles(store) == ["mine", "new"]

    def test_a_dead_page_keeps_an_item_that_belongs_to_another_page_by_now(self, store: Store) -> None:
        save_pages(store, giving(1, 1, book("old", "k")))
        save_pages(store, giving(2, 2, book("new", "k")))
        save(store, Batch(JOB, dead=[dead_letter(1, 3)]))
        assert titles(store) == ["new"]

    def test_types_and_jobs_do_not_share_keys(self, store: Store) -> None:
        job_with(store, id="other")
        save_pages(store, giving(1, 1, book("a", "k"), item_record("Shop", {"title": "s"}, "k")))
        save(store, Batch("other", pages=[replace(giving(1, 9, book("b", "k")), job="other")]))
        assert titles(store) == ["a", "s"]

    def test_an_outdated_record_of_a_page_takes_over_no_key(self, store: Store) -> None:
        save_pages(store, giving(1, 9, book("standing")))
        save_pages(store, giving(1, 8, book("stale", "k")), giving(2, 7, book("fresh", "k")))
        assert titles(store) == ["standing", "fresh"]

    def test_any_order_of_saves_leaves_each_key_once_with_its_newest_data(self, store: Store) -> None:
        chance = random.Random(5)
        history = [
            giving(token % 7, token, *(book(f"{token}", f"k{chance.randrange(9)}") for _ in range(3)))
            for token in range(1, 41)
        ]
        save_pages(store, *chance.sample(history, 20))
        for one in chance.sample(history * 2, 80):
            save_pages(store, one)
        newest = {one.fingerprint: one for one in history}
        owners: dict[str, tuple[int, str]] = {}
        for one in newest.values():
            for item in one.items:
                owners[item.key or ""] = max(owners.get(item.key or "", (0, "")), (one.token, item.data["title"]))
        with store.read() as db:
            rows = db.exec_driver_sql("SELECT key, data, token FROM items").all()
        assert len({row.key for row in rows}) == len(rows)
        # If the newest page of a key loses it, the key is gone until it is found again; none is older than its page.
        for key, data, token in rows:
            assert (token, json.loads(data)["title"]) <= owners[key]
            assert token in {one.token for one in newest.values()}


class TestHostileValues:
    @pytest.mark.parametrize("hostile", ["a\ud800b", "\0", "\\u0000 \0", "\ud83d\ude00", float("nan"), float("inf")])
    def test_no_value_makes_a_save_fail(self, store: Store, hostile: Any) -> None:
        item = book("t", "key\ud800\0", deep=[{"in": hostile}])
        save_pages(store, giving(1, 1, item, rejects=(RejectRecord("Book", {"v": hostile}, "no\0\ud800"),)))
        (found,) = list_items(store, JOB, {})
        (reject,) = list_rejects(store, JOB, {})
        for value in (found["deep"][0]["in"], reject["data"]["v"]):
            assert value is None if isinstance(hostile, float) else "\0" not in value and value.encode()

    def test_keys_that_become_equal_when_stored_are_one(self, store: Store) -> None:
        save_pages(store, giving(1, 1, book("a", "k\ud800"), book("b", "k\udfff")))
        assert titles(store) == ["b"]

    def test_an_integer_of_any_size_round_trips(self, store: Store) -> None:
        save_pages(store, giving(1, 1, book("a", n=10**99)))
        assert next(list_items(store, JOB, {}))["n"] == 10**99


class TestTypes:
    def test_types_keep_the_order_of_their_first_use(self, store: Store) -> None:
        for name in ("Zoo", "Book", "Ant"):
            save_item_types(store, JOB, [item_type(name, {"b": "text", "a": "integer"})])
        found = item_types(store, JOB)
        assert [one.name for one in found] == ["Zoo", "Book", "Ant"]
        assert found[0] == item_type("Zoo", {"b": "text", "a": "integer"}) and list(found[0].fields) == ["b", "a"]

    def test_a_changed_spider_keeps_the_fields_of_earlier_items(self, store: Store) -> None:
        save_item_types(store, JOB, [item_type("Book", {"title": "text", "price": "text", "old": "date"})])
        save_item_types(store, JOB, [item_type("Book", {"price": "decimal", "title": "text", "new": "url"})])
        (found,) = item_types(store, JOB)
        assert found == item_type("Book", {"price": "text", "title": "text", "new": "url", "old": "date"})

    def test_plain_mappings_have_the_kinds_of_their_values(self, store: Store) -> None:
        rows: list[dict[str, Any]] = [
            {"t": "x", "n": 1, "f": 1, "b": True, "l": [1], "o": {}, "none": None, "mixed": 1},
            {"t": None, "n": 2, "f": 1.5, "late": "y", "mixed": "z"},
        ]
        save_pages(store, giving(1, 1, *(item_record("dict", row) for row in rows)))
        (found,) = item_types(store, JOB)
        assert {name: type.kind for name, type in found.fields.items()} == {
            **{"t": "text", "n": "integer", "f": "number", "b": "boolean", "l": "list"},
            **{"o": "object", "none": "text", "mixed": "text", "late": "text"},
        }
        with item_table(store, JOB, {}) as table:
            assert table.columns == dict.fromkeys(found.fields, TEXT), "the next run may have other values"

    @pytest.mark.parametrize(
        ("before", "after", "both"),
        [
            ("decimal(12,2)", "decimal(10,4)", "decimal(14,4)"),
            ("decimal(76,0)", "decimal(10,4)", "text"),
            ({"list": "integer"}, {"list": "text"}, {"list": "text"}),
            ({"object": {"a": "text"}}, {"object": {"b": "date"}}, {"object": {"b": "date", "a": "text"}}),
            ({"object": {"a": "text"}}, "object", "object"),
            ("list", {"list": "text"}, {"list": "text"}),
            ("decimal", "decimal(38,9)", "decimal"),
        ],
    )
    def test_a_changed_type_becomes_one_that_holds_the_values_of_both(
        self, store: Store, before: Any, after: Any, both: Any
    ) -> None:
        for type in (before, after):
            save_item_types(store, JOB, [item_type("Book", {"f": type})])
        assert item_types(store, JOB) == [item_type("Book", {"f": both})]

    def test_one_type_has_its_own_columns(self, store: Store) -> None:
        save_item_types(store, JOB, [item_type("Book", {"title": "text", "price": "decimal"})])
        save_pages(store, giving(1, 1, book("a", price="1.20")))
        with item_table(store, JOB, {}) as rows:
            assert list(rows.columns.items()) == [("title", TEXT), ("price", FieldType("decimal"))]
            assert list(rows) == list(rows) == [{"title": "a", "price": "1.20"}]

    def test_several_types_share_a_table_that_begins_with_the_type(self, store: Store) -> None:
        types = [
            item_type("Book", {"title": "text", "no": "integer"}),
            item_type("Shop", {"no": "text", "open": "date"}),
        ]
        save_item_types(store, JOB, types)
        save_pages(store, giving(1, 1, book("a"), item_record("Shop", {"no": "7b"})))
        with item_table(store, JOB, {}) as rows:
            assert list(rows.columns) == ["_type", "title", "no", "open"]
            assert rows.columns["no"] == TEXT, "what two types disagree on is text"
            assert list(rows) == [{"_type": "Book", "title": "a"}, {"_type": "Shop", "no": "7b"}]


def many_pages(n: int) -> Iterator[PageRecord]:
    return (giving(one, one, *(book(f"{one}-{i}" + "x" * 300) for i in range(20))) for one in range(n))


def test_many_items_stream_in_bounded_memory(store: Store) -> None:
    save_pages(store, *many_pages(1000))
    with peak_memory() as peak:
        assert sum(1 for _ in list_items(store, JOB, {})) == 20_000
    assert peak.bytes < 3_000_000 < 20_000 * 300
