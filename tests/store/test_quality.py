from __future__ import annotations

from typing import Any

import pytest

from shoal.model import JobSpec, JobState
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job
from shoal.store.results.items import save_item_types
from shoal.store.results.quality import FieldQuality, changes, last_quality, load_quality, measure_quality, verdict
from shoal.store.store import Store
from tests.store.make import JOB, item_record, item_type, job_with, page
from tests.store.memory import peak_memory

KINDS = {
    "title": "text",
    "price": "decimal",
    "stock": "integer",
    "score": "number",
    "sold": "boolean",
    "since": "date",
    "seen": "datetime",
    "tags": "list",
    "more": "object",
}


def measured(store: Store, *rows: dict[str, Any]) -> dict[str, FieldQuality]:
    job_with(store)
    save_item_types(store, JOB, [item_type("Book", KINDS)])
    save(store, Batch(JOB, pages=[page(1, items=[item_record("Book", row) for row in rows])]))
    return {found.field: found for found in measure_quality(store, JOB)}


def field(n: int = 100, nulls: int = 0, name: str = "price", type: str = "Book") -> FieldQuality:
    return FieldQuality(type, name, "decimal", n, nulls, 1, "1", "2")


def test_null_missing_and_empty_values_are_null(store: Store) -> None:
    found = measured(store, {"title": "a", "tags": ["x"]}, {"title": "", "tags": []}, {"title": None}, {"stock": 0})
    assert (found["title"].n, found["title"].nulls, found["title"].null_share) == (4, 3, 0.75)
    assert (found["tags"].nulls, found["stock"].nulls, found["price"].nulls) == (3, 3, 4)


def test_numbers_and_dates_have_a_range_and_texts_and_lists_a_range_of_lengths(store: Store) -> None:
    found = measured(
        store,
        {
            **{"price": "9.50", "stock": -2, "score": 0.5, "since": "2024-02-01", "title": "日本"},
            **{"seen": "2024-01-01T00:00:00+02:00", "tags": ["a"], "sold": True, "more": {"a": 1}},
        },
        {
            **{"price": "10.00", "stock": -1, "score": 2, "since": "2023-12-31", "title": "longer"},
            **{"seen": "2023-12-31T23:00:00", "tags": ["a", "b", "c"], "sold": False, "more": {"a": 2}},
        },
    )
    assert {name: (one.least, one.most) for name, one in found.items()} == {
        "title": ("2", "6"),
        "price": ("9.50", "10.00"),
        "stock": ("-2", "-1"),
        "score": ("0.5", "2"),
        "sold": (None, None),
        "since": ("2023-12-31", "2024-02-01"),
        "seen": ("2024-01-01T00:00:00+02:00", "2023-12-31T23:00:00+00:00"),
        "tags": ("1", "3"),
        "more": (None, None),
    }
    assert {one.distinct for one in found.values()} == {2}, "-1 and -2 are two, though their hashes are one"


def test_values_of_a_wrong_kind_do_not_stop_the_measurement(store: Store) -> None:
    found = measured(store, {"price": "soon", "since": "later", "seen": "?", "stock": "many", "title": 5})
    assert (found["price"].least, found["since"].least, found["stock"].nulls, found["title"].most) == (
        None,
        None,
        0,
        "1",
    )


@pytest.mark.parametrize(("n", "distinct"), [(10_000, 10_000), (10_001, 10_001), (12_000, 10_001)])
def test_distinct_values_are_counted_up_to_ten_thousand(store: Store, n: int, distinct: int) -> None:
    found = measured(store, *({"title": f"{row}", "stock": row % 3} for row in range(n)))
    assert (found["title"].distinct, found["stock"].distinct) == (distinct, 3)


def test_items_of_short_and_long_pages_are_measured_alike(store: Store) -> None:
    job_with(store)
    save_item_types(store, JOB, [item_type("Book", KINDS)])
    sizes = {1: 1, 2: 50, 3: 51, 4: 120}
    pages = [page(n, items=[item_record("Book", {"stock": n * 1000 + row}) for row in range(sizes[n])]) for n in sizes]
    save(store, Batch(JOB, pages=pages))
    stock = {found.field: found for found in measure_quality(store, JOB)}["stock"]
    assert (stock.n, stock.distinct, stock.least, stock.most) == (222, 222, "1000", "4119")


def test_measuring_takes_bounded_memory(store: Store) -> None:
    rows = ({"title": f"{row}" + "x" * 1000} for row in range(20_000))
    job_with(store)
    save_item_types(store, JOB, [item_type("Book", KINDS)])
    save(store, Batch(JOB, pages=[page(1, items=[item_record("Book", row) for row in rows])]))
    with peak_memory() as peak:
        measure_quality(store, JOB)
    assert peak.bytes < 10_000_000 < 20_000 * 1000


def test_a_measurement_is_saved_in_order_and_replaced_by_the_next(store: Store) -> None:
    found = measured(store, {"title": "a"})
    assert load_quality(store, JOB) == list(found.values())
    assert [one.field for one in load_quality(store, JOB)] == list(KINDS)
    save(store, Batch(JOB, pages=[page(2, items=[item_record("Book", {"title": "b"})])]))
    assert measure_quality(store, JOB) == load_quality(store, JOB)
    assert load_quality(store, JOB)[0].n == 2


def test_a_type_without_items_is_measured_too(store: Store) -> None:
    found = measured(store)
    assert (found["title"].n, found["title"].null_share, found["title"].least) == (0, 0.0, None)


def ended_job(store: Store, id: str, at: float, state: JobState, name: str = "books", items: int = 1) -> None:
    create_job(store, id, lambda: JobSpec(name), [], at)
    found = page(1, items=[item_record("Book", {"title": f"{n}"}) for n in range(items)])
    found.job = id
    save_item_types(store, id, [item_type("Book", {"title": "text"})])
    save(store, Batch(id, pages=[found]))
    measure_quality(store, id)
    set_state(store, id, state, at + 1)


class TestTheLastRun:
    def test_is_the_newest_of_the_name_that_ended_well_before(self, store: Store) -> None:
        ended_job(store, "a", 1, JobState.DONE, items=5)
        ended_job(store, "b", 2, JobState.LIMITED, items=6)
        ended_job(store, "c", 3, JobState.FAILED, items=0)
        ended_job(store, "d", 4, JobState.CANCELLED, items=1)
        ended_job(store, "e", 5, JobState.DONE, name="other", items=7)
        ended_job(store, "now", 6, JobState.RUNNING, items=2)
        ended_job(store, "later", 7, JobState.DONE, items=8)
        assert [one.n for one in last_quality(store, "books", "now")] == [6]
        assert [one.n for one in last_quality(store, "books", "b")] == [5]

    def test_without_one_there_is_nothing_to_compare(self, store: Store) -> None:
        ended_job(store, "now", 1, JobState.DONE)
        assert last_quality(store, "books", "now") == []

    def test_an_unmeasured_one_is_skipped(self, store: Store) -> None:
        ended_job(store, "a", 1, JobState.DONE, items=5)
        create_job(store, "pages-only", lambda: JobSpec("books"), [], 2)
        set_state(store, "pages-only", JobState.DONE, 3)
        ended_job(store, "now", 4, JobState.DONE)
        assert [one.n for one in last_quality(store, "books", "now")] == [5]


class TestChanges:
    def test_are_those_of_the_number_of_items_and_of_the_null_share(self) -> None:
        (change,) = changes([field(50, 25)], [field(100, 10)])
        assert (change.items, change.null_share) == (-0.5, 0.4)

    def test_a_new_field_has_none(self) -> None:
        change, _ = changes([field(name="new"), field()], [field()])
        assert (change.before, change.items, change.null_share) == (None, None, None)

    def test_a_type_that_vanished_has_no_items(self) -> None:
        (_, gone) = changes([field(type="Shop")], [field(type="Shop"), field(type="Book")])
        assert (gone.now.type, gone.now.n, gone.items, gone.null_share) == ("Book", 0, -1.0, None)

    def test_without_a_previous_run_everything_is_new(self) -> None:
        (change,) = changes([field(5)], [field(0)])
        assert (change.items, change.null_share) == (None, None)


class TestVerdict:
    def test_without_thresholds_everything_passes(self) -> None:
        assert verdict(JobSpec("books"), [field(1, 1)], [field(100)]) is None

    @pytest.mark.parametrize(("nulls", "failed"), [(5, False), (6, True)])
    def test_a_field_may_be_empty_up_to_the_threshold(self, nulls: int, failed: bool) -> None:
        reason = verdict(JobSpec("books", max_null_share=0.05), [field(nulls=nulls)], [])
        expected = "Book.price is empty in 6.0% of 100 items, allowed are 5.0%"
        assert reason == (expected if failed else None)

    @pytest.mark.parametrize(("n", "failed"), [(200, False), (80, False), (79, True)])
    def test_items_may_become_fewer_up_to_the_threshold_and_more_without_one(self, n: int, failed: bool) -> None:
        reason = verdict(
            JobSpec("books", max_change=0.2), [field(n), field(n, name="title")], [field(), field(name="title")]
        )
        assert reason == ("Book: 79 items, 21.0% fewer than the 100 before, allowed are 20.0%" if failed else None)

    def test_a_field_that_became_emptier_is_named_with_its_figures(self) -> None:
        reason = verdict(JobSpec("books", max_change=0.2), [field(nulls=80)], [field(nulls=2)])
        assert reason == ("Book.price is empty in 80.0% of 100 items, before in 2.0%, allowed is a rise of 20.0%")

    def test_no_items_at_all_fail(self) -> None:
        assert verdict(JobSpec("books", max_null_share=0.5), [], []) == "no items were found"
        gone = verdict(JobSpec("books", max_change=0.5), [], [field(40)])
        assert gone == "Book: 0 items, 100.0% fewer than the 40 before, allowed are 50.0%"

    def test_a_first_run_has_not_changed(self) -> None:
        assert verdict(JobSpec("books", max_change=0.0), [field(nulls=99)], []) is None

    def test_only_the_first_faults_are_named(self) -> None:
        reason = verdict(JobSpec("books", max_null_share=0.0), [field(nulls=9, name=f"f{n}") for n in range(5)], [])
        assert reason is not None and reason.count("is empty") == 3 and reason.endswith("; and 2 more")
