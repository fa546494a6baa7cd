from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from shoal.model import PageContent
from shoal.store.crawl.failed_attempts import FAILED
from shoal.store.crawl.save_batch import SKIPPED, Batch, save
from shoal.store.failure_trend import FailureTrend
from shoal.store.results.job_figures import Failures, TrapFigures, stored_figures
from shoal.store.results.listings import find_outcome, list_pages, list_pages_with_content
from shoal.store.store import Store
from tests.store.make import JOB, dead_letter, drop, job_with, page, redirect, url

KINDS = ("pages", "redirects", "dead", "drops")


@pytest.fixture(autouse=True)
def job(store: Store) -> None:
    job_with(store)


def rows(store: Store) -> dict[str, list[Any]]:
    with store.read() as db:
        return {
            table: sorted(db.exec_driver_sql(f"SELECT * FROM {table}").all())
            for table in ("pages", "contents", "redirects", "dead", "drops", "tallies")
        }


def batch_of(kind: str, token: int, n: int = 1) -> Batch:
    batch = Batch(JOB)
    if kind == "pages":
        batch.pages.append(page(n, token))
    elif kind == "redirects":
        batch.redirects.append(redirect(n, 99, token))
    elif kind == "dead":
        batch.dead.append(dead_letter(n, token))
    else:
        batch.drops.append(drop(n, token))
    return batch


def full_batch() -> Batch:
    content = PageContent("about", "en", "what it says", ["https://site.test/next"])
    pages = [page(n, content=content if n % 2 else None) for n in range(100)]
    return Batch(
        JOB,
        pages=pages,
        redirects=[redirect(n, n + 1) for n in range(100, 110)],
        dead=[dead_letter(n) for n in range(110, 120)],
        drops=[drop(n) for n in range(120, 130)],
        skips={one.fingerprint: {"off_scope": 2, "trap": 1} for one in pages},
    )


def test_a_repeated_save_gives_the_same_rows(store: Store) -> None:
    save(store, full_batch())
    once = rows(store)
    save(store, full_batch())
    assert rows(store) == once
    assert [len(once[table]) for table in (*KINDS, "contents")] == [100, 10, 10, 10, 50]


def test_a_save_repeated_under_a_later_lease_counts_nothing_twice(store: Store) -> None:
    save(store, full_batch())
    again = full_batch()
    again.pages = [replace(one, token=2, title="newer") for one in again.pages]
    save(store, again)
    figures = stored_figures(store, JOB)
    assert (figures.pages, figures.skipped) == (100, {"off_scope": 200, "trap": 100})


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 127, 200, 3000])
def test_batches_of_any_size_are_saved_completely(store: Store, size: int) -> None:
    save(store, Batch(JOB, pages=[page(n) for n in range(size)]))
    assert stored_figures(store, JOB).pages == size


def test_an_empty_batch_changes_nothing(store: Store) -> None:
    before = rows(store)
    save(store, Batch(JOB))
    assert rows(store) == before


def test_an_older_lease_does_not_replace_a_page(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(1, 5, title="new", content=PageContent(None, None, "new", []))]))
    save(store, Batch(JOB, pages=[page(1, 4, title="old", content=PageContent(None, None, "old", []))]))
    (stored,) = list_pages_with_content(store, JOB, {})
    assert (stored["title"], stored["text"]) == ("new", "new")


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(KINDS, 2)))
def test_a_newer_outcome_replaces_any_other(store: Store, first: str, second: str) -> None:
    save(store, batch_of(first, 1))
    save(store, batch_of(second, 2))
    stored = rows(store)
    assert {table: len(stored[table]) for table in KINDS} == {table: int(table == second) for table in KINDS}


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(KINDS, 2)))
def test_an_older_outcome_of_another_kind_is_ignored(store: Store, first: str, second: str) -> None:
    save(store, batch_of(first, 2))
    before = rows(store)
    save(store, batch_of(second, 1))
    assert rows(store) == before


def test_the_newer_of_two_records_in_a_batch_wins(store: Store) -> None:
    content = PageContent(None, None, "older", [])
    batch = Batch(JOB, pages=[page(1, 3, content=content), page(2, 1, content=content)], dead=[dead_letter(2, 2)])
    batch.pages.append(page(1, 4))
    save(store, batch)
    stored = rows(store)
    assert ([row[2] for row in stored["pages"]], len(stored["dead"]), stored["contents"]) == ([4], 1, [])


def test_any_order_of_saves_leaves_only_the_newest_outcome(store: Store) -> None:
    chance = random.Random(7)
    for n in range(40):
        history = [(token, chance.choice(KINDS)) for token in range(1, 6)]
        for token, kind in chance.sample(history * 2, 10):
            save(store, batch_of(kind, token, n))
        with store.read() as db:
            found = [
                (row.token, kind)
                for kind in KINDS
                for row in db.exec_driver_sql(f"SELECT token FROM {kind} WHERE fingerprint = {n}")
            ]
        assert found == [history[-1]]


def test_a_page_without_content_loses_its_earlier_content(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(1, 1, content=PageContent(None, None, "text", []))]))
    save(store, Batch(JOB, pages=[page(1, 2, status=404)]))
    assert rows(store)["contents"] == []


def test_jobs_do_not_share_rows(store: Store) -> None:
    job_with(store, id="other")
    save(store, batch_of("dead", 9))
    other = replace(page(1, 1), job="other")
    save(store, Batch("other", pages=[other]))
    assert (stored_figures(store, JOB).dead, stored_figures(store, "other").pages) == (1, 1)


def test_tallies_add_up_and_keep_their_first_sample(store: Store) -> None:
    for at, sample in ((20.0, "https://site.test/a"), (10.0, "https://site.test/b: reset")):
        batch = Batch(JOB, tallies={(SKIPPED, "nofollow"): (2, None)})
        batch.add_failure("status", 503, "site.test", sample, at)
        batch.add_failure("status", 503, "site.test", "later", at + 5)
        batch.add_failure("timeout", None, "[::1]:8080", sample, at)
        save(store, batch)
    figures = stored_figures(store, JOB)
    assert figures.skipped == {"nofollow": 4}
    at_503, at_timeout = FailureTrend(10, 10, [2, 2]), FailureTrend(10, 10, [1, 1])
    assert figures.failures == [
        Failures("status", 503, "site.test", 4, "https://site.test/a", 10.0, 25.0, at_503),
        Failures("timeout", None, "[::1]:8080", 2, "https://site.test/a", 10.0, 20.0, at_timeout),
    ]
    assert all(kind in (SKIPPED, FAILED) for _, kind, *_ in rows(store)["tallies"])


def test_the_first_of_failures_is_unknown_if_an_older_version_counted_some(store: Store) -> None:
    batch = Batch(JOB)
    batch.add_failure("timeout", None, "site.test", "https://site.test/: after 30 s", 10.0)
    save(store, batch)
    store.change(lambda db: db.execute(text("UPDATE tallies SET first_at = NULL, last_at = NULL, trend = NULL")))
    (unknown,) = stored_figures(store, JOB).failures
    save(store, batch)
    (failed,) = stored_figures(store, JOB).failures
    assert (unknown.n, unknown.first_at, unknown.last_at, unknown.trend) == (1, None, None, None)
    assert (failed.n, failed.first_at, failed.last_at, failed.sample_url) == (2, None, 10.0, "https://site.test/")
    assert failed.trend == FailureTrend(10, 10, [1])


def test_skips_with_a_tally_of_the_same_reason_are_added(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(1)], skips={1: {"trap": 3}}, tallies={(SKIPPED, "trap"): (1, "x")}))
    assert stored_figures(store, JOB).skipped == {"trap": 4}


def test_tallies_whose_keys_become_equal_when_stored_are_one(store: Store) -> None:
    save(store, Batch(JOB, tallies={(SKIPPED, "a\ud800"): (1, None), (SKIPPED, "a\0"): (2, "x")}))
    assert stored_figures(store, JOB).skipped == {"a\ufffd": 3}


def test_the_first_three_skipped_urls_per_reason_are_kept(store: Store) -> None:
    def saved(n: int, *samples: str) -> None:
        skips = {n: {"trap:depth": len(samples), "trap:length": 1}}
        save(store, Batch(JOB, pages=[page(n)], skips=skips, samples={"trap:depth": list(samples)}))

    saved(1, "http://h/a")
    saved(2, "http://h/a", "http://h/b")
    saved(3, "http://h/c", "http://h/d")
    saved(3, "http://h/e")
    figures = stored_figures(store, JOB)
    assert figures.skipped == {"trap": 8}
    assert figures.traps == [
        TrapFigures("depth", 5, ["http://h/a", "http://h/b", "http://h/c"]),
        TrapFigures("length", 3, []),
    ]


def test_figures_are_counted_from_the_rows(store: Store) -> None:
    save(store, full_batch())
    save(store, Batch(JOB, pages=[page(500, status=404, host="b.test", bytes=7)], drops=[drop(501, reason="operator")]))
    figures = stored_figures(store, JOB)
    assert (figures.pages, figures.redirects, figures.dead, figures.items) == (101, 10, 10, 0)
    assert figures.dropped == {"robots": 10, "operator": 1}
    assert figures.by_status == {"200": 100, "404": 1}
    assert (figures.bytes, figures.hosts) == (100_007, 2)


def test_figures_of_an_empty_job_are_zero(store: Store) -> None:
    figures = stored_figures(store, JOB)
    assert (figures.pages, figures.bytes, figures.hosts, figures.by_status) == (0, 0, 0, {})


@pytest.mark.parametrize("hostile", ["\ud800", "a\udfff\0b", "\ud83d\ude00", "\0" * 9, "é\x1b[31m", "日本\ud800"])
def test_hostile_text_is_stored_without_an_error(store: Store, hostile: str) -> None:
    content = PageContent(hostile, None, f"before {hostile} after", [hostile, "https://site.test/"])
    save(
        store,
        Batch(
            JOB,
            pages=[page(1, title=hostile, etag=hostile, content=content)],
            dead=[replace(dead_letter(2), detail=hostile)],
            tallies={(SKIPPED, hostile): (1, hostile)},
        ),
    )
    (stored,) = list_pages_with_content(store, JOB, {})
    assert stored["text"].startswith("before ") and stored["text"].endswith(" after")
    assert len(stored["links"]) == 2 and stored["links"][1] == "https://site.test/"
    for kept in (stored["title"], stored["description"], stored["links"][0]):
        kept.encode()
        assert "\0" not in kept


def test_separate_halves_of_a_surrogate_pair_are_joined(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(1, title="\ud83d\ude00")]))
    stored = find_outcome(store, JOB, 1)
    assert stored is not None and getattr(stored, "title", None) == "😀"


def test_a_page_that_represents_others_stays_listed_when_it_is_saved_again_with_another_canonical(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(1, merge_key=9), page(2, merge_key=9), page(3, merge_key=8)]))
    save(store, Batch(JOB, pages=[page(1, token=2, merge_key=8)]))
    assert [row["url"] for row in list_pages(store, JOB, {})] == [url(1), url(3)]
    again = page(2, token=2, merge_key=9)
    save(store, Batch(JOB, pages=[again]))
    assert again.merged_into == 1
