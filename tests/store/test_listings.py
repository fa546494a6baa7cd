from __future__ import annotations

import itertools

import pytest

from shoal.errors import UsageError
from shoal.model import PageContent
from shoal.store import tables
from shoal.store.crawl.dead_letters import dead_letters, forget_dead
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results import columns
from shoal.store.results.listings import (
    find_outcome,
    list_dead,
    list_pages,
    list_pages_with_content,
    pages_without_body,
    redirects_to,
)
from shoal.store.store import Store
from tests.store.make import JOB, dead_letter, drop, job_with, page, redirect, url
from tests.store.memory import peak_memory


@pytest.fixture(autouse=True)
def job(store: Store) -> None:
    job_with(store)


def test_a_page_is_shown_with_its_fields_in_order(store: Store) -> None:
    child = page(-2, parent=1, title="Child", archive="seg:0:9", fetched_at=1_700_000_001.5)
    save(store, Batch(JOB, pages=[child, page(1, fetched_at=1_700_000_000.0)]))
    _, shown = list_pages(store, JOB, {})
    assert list(shown.items()) == [
        ("url", url(-2)),
        ("final_url", url(-2)),
        ("status", 200),
        ("depth", 1),
        ("parent", url(1)),
        ("content_type", "text/html"),
        ("bytes", 1000),
        ("title", "Child"),
        ("digest", "d" * 32),
        ("fingerprint", "fffffffffffffffe"),
        ("attempts", 1),
        ("duration_ms", 20),
        ("fetched_at", "2023-11-14T22:13:21.500Z"),
        ("via", "http"),
        ("archive", "seg:0:9"),
        ("changed", None),
        ("tdm_reservation", None),
        ("tdm_policy", None),
        ("canonical", None),
        ("noindex", None),
        ("nofollow", None),
        ("change_kind", None),
        ("is_asset", False),
        ("session", None),
    ]


def test_content_follows_the_fields_of_its_page_with_collapsed_white_space(store: Store) -> None:
    content = PageContent("About", "fr", "Bonjour, 世界\nligne", [url(2), url(3)])
    save(store, Batch(JOB, pages=[page(1, content=content), page(2)]))
    told, silent = list_pages_with_content(store, JOB, {})
    assert list(told) == list(silent) == list(columns.PAGE_WITH_CONTENT)
    assert [told[name] for name in ("description", "language", "text", "links")] == [
        "About",
        "fr",
        "Bonjour, 世界 ligne",
        [url(2), url(3)],
    ]
    assert [silent[name] for name in ("description", "language", "text", "links")] == [None] * 4


def test_listings_come_in_the_order_of_the_crawl(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(n) for n in (5, 1, 9, 3)]))
    assert [shown["url"] for shown in list_pages(store, JOB, {})] == [url(n) for n in (1, 3, 5, 9)]


def test_listings_are_filtered(store: Store) -> None:
    pages = [page(1), page(2, status=404), page(3, host="b.test"), page(4, status=404, host="b.test")]
    save(
        store,
        Batch(
            JOB,
            pages=pages,
            dead=[dead_letter(10), dead_letter(11, reason="status", status=503)],
        ),
    )
    assert [shown["url"] for shown in list_pages(store, JOB, {"status": "404"})] == [url(2), url(4)]
    assert [shown["url"] for shown in list_pages(store, JOB, {"status": "404", "host": "b.test"})] == [url(4)]
    assert [shown["status"] for shown in list_dead(store, JOB, {"reason": "status"})] == [503]
    assert [shown["url"] for shown in list_dead(store, JOB, {"status": "503"})] == [url(11)]
    assert [list(shown) for shown in list_dead(store, JOB, {})] == [list(columns.DEAD)] * 2


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"colour": "red"}, "cannot filter by 'colour': choose from reason, status, host"),
        ({"status": "many"}, "status=many: a status is a number"),
        ({"status": "²"}, "a status is a number"),
        ({"status": "9" * 30}, "a status is a number"),
    ],
)
def test_an_invalid_filter_lists_the_valid_ones(store: Store, where: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(list_dead(store, JOB, where))


def test_a_filter_without_matches_finds_none(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(1)]))
    assert list(list_pages(store, JOB, {"host": "a\0\ud800"})) == []


def multiply_page(store: Store, last: int) -> None:
    """Copies the stored page, so that there is one page for each number up to the last."""
    names = tables.pages.columns.keys()
    values = ("number" if name in ("fingerprint", "fetched_at") else name for name in names)
    numbers = f"WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n WHERE number < {last})"
    with store.write() as db:
        db.exec_driver_sql(f"{numbers} INSERT INTO pages SELECT {', '.join(values)} FROM pages, n")


def test_a_hundred_thousand_pages_stream_in_bounded_memory(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(0, fetched_at=0.0, title="x" * 500)]))
    multiply_page(store, 99_999)
    with peak_memory() as peak:
        streamed = sum(1 for _ in itertools.islice(list_pages(store, JOB, {}), 10_000))
    assert (streamed, peak.bytes < 3_000_000) == (10_000, True)
    fingerprints = [shown["fingerprint"] for shown in list_pages(store, JOB, {})]
    assert fingerprints == [f"{n:016x}" for n in range(100_000)]


def test_a_listing_closed_early_returns_its_connection(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(n) for n in range(2000)]))
    for _ in range(40):
        listing = list_pages(store, JOB, {})
        next(listing)
        listing.close()  # type: ignore[attr-defined]
    save(store, Batch(JOB, pages=[page(1, 2)]))


def test_each_outcome_is_found_with_its_record(store: Store) -> None:
    records = (page(1, title="t", etag='"e"'), redirect(2, 1), dead_letter(3), drop(4))
    save(store, Batch(JOB, [records[0]], [records[1]], [records[2]], [records[3]]))
    assert tuple(find_outcome(store, JOB, n) for n in (1, 2, 3, 4)) == records
    assert find_outcome(store, JOB, 5) is None
    assert find_outcome(store, "other", 1) is None


def test_redirects_to_a_page_are_found(store: Store) -> None:
    save(
        store,
        Batch(JOB, redirects=[redirect(1, 9), redirect(2, 9), redirect(3, 8), redirect(4, None, reason="scheme")]),
    )
    assert [one.fingerprint for one in redirects_to(store, JOB, 9, 10)] == [1, 2]
    assert len(redirects_to(store, JOB, 9, 1)) == 1


class TestDeadLettersTriedAgain:
    def test_all_are_read_even_if_some_are_deleted_in_between(self, store: Store) -> None:
        save(store, Batch(JOB, dead=[dead_letter(n) for n in range(-600, 601)]))
        offered = []
        for letters in dead_letters(store, JOB, {}):
            offered += [letter.fingerprint for letter in letters]
            forget_dead(store, letters)
        assert offered == list(range(-600, 601))
        assert list(list_dead(store, JOB, {})) == []

    def test_letters_that_were_not_deleted_are_read_again(self, store: Store) -> None:
        save(store, Batch(JOB, dead=[dead_letter(1), dead_letter(2)]))
        assert list(dead_letters(store, JOB, {})) == list(dead_letters(store, JOB, {}))
        assert [letter.request for (letter, _) in dead_letters(store, JOB, {})] == ['{"n": 1}']

    def test_only_those_that_match_are_read(self, store: Store) -> None:
        save(store, Batch(JOB, dead=[dead_letter(1), dead_letter(2, reason="too_large")]))
        ((letter,),) = dead_letters(store, JOB, {"reason": "too_large"})
        assert letter.fingerprint == 2

    def test_a_letter_that_died_again_stays(self, store: Store) -> None:
        save(store, Batch(JOB, dead=[dead_letter(1, token=1)]))
        (letters,) = dead_letters(store, JOB, {})
        save(store, Batch(JOB, dead=[dead_letter(1, token=2)]))
        forget_dead(store, letters)
        assert find_outcome(store, JOB, 1) == dead_letter(1, token=2)


def test_successful_pages_without_a_body_are_counted_including_a_304_of_a_refresh(store: Store) -> None:
    statuses = (200, 204, 304, 404)
    bare = [page(n, status=status) for n, status in enumerate(statuses)]
    kept = [page(10 + n, status=status, archive="seg:0:9") for n, status in enumerate(statuses)]
    save(store, Batch(JOB, pages=[*bare, *kept]))
    assert pages_without_body(store, JOB) == 3
