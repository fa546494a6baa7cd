from __future__ import annotations

from typing import Any

from shoal.model import Input
from shoal.store.crawl.input_report import input_report
from shoal.store.crawl.inputs import inputs_of
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results import columns
from shoal.store.store import Store
from tests.store.make import JOB, dead_letter, drop, given, job_with, page, redirect, url
from tests.store.memory import peak_memory


def reported(store: Store) -> list[tuple[Any, ...]]:
    rows = list(input_report(store, JOB))
    assert all(list(row) == list(columns.INPUT) for row in rows)
    return [tuple(row.values()) for row in rows]


def test_each_input_has_one_row_in_its_order(store: Store) -> None:
    job_with(
        store,
        given(1, 10),
        Input(2, "mailto:me", None, reason="not HTTP"),
        given(4, 10, duplicate_of=1),
        given(5, 11),
        given(6, 12),
        given(7, 13),
    )
    save(store, Batch(JOB, pages=[page(10)], dead=[dead_letter(11, status=503)], drops=[drop(12)]))
    assert reported(store) == [
        (1, "site.test/10", url(10), 200, "page", None, None),
        (2, "mailto:me", None, None, "rejected", "not HTTP", None),
        (4, "site.test/10", url(10), 200, "page", None, 1),
        (5, "site.test/11", url(11), 503, "dead", "timeout", None),
        (6, "site.test/12", url(12), None, "dropped", "robots", None),
        (7, "site.test/13", None, None, "queued", None, None),
    ]


def test_redirects_are_followed_to_their_end(store: Store) -> None:
    job_with(store, given(1, 1), given(2, 5), given(3, 6))
    redirects = [redirect(1, 2), redirect(2, 3), redirect(5, 50), redirect(6, None, reason="not HTTP")]
    save(store, Batch(JOB, pages=[page(3, status=404)], redirects=redirects))
    assert reported(store) == [
        (1, "site.test/1", url(3), 404, "page", None, None),
        (2, "site.test/5", None, None, "queued", None, None),
        (3, "site.test/6", url(6), 301, "redirect", "not HTTP", None),
    ]


def test_a_chain_of_twenty_redirects_is_followed(store: Store) -> None:
    job_with(store, given(1, 0))
    save(store, Batch(JOB, pages=[page(20)], redirects=[redirect(n, n + 1) for n in range(20)]))
    assert reported(store) == [(1, "site.test/0", url(20), 200, "page", None, None)]


def test_a_cycle_of_redirects_ends(store: Store) -> None:
    job_with(store, given(1, 1), given(2, 3))
    save(store, Batch(JOB, redirects=[redirect(1, 2), redirect(2, 1), redirect(3, 3)]))
    assert [(row[0], row[4]) for row in reported(store)] == [(1, "redirect"), (2, "redirect")]


def test_a_long_list_is_reported_in_bounded_memory(store: Store) -> None:
    n = 10_000
    job_with(store, *(given(line, line) for line in range(n)))
    save(store, Batch(JOB, pages=[page(line) for line in range(0, n, 2)]))
    with peak_memory() as peak:
        outcomes = [row["outcome"] for row in input_report(store, JOB)]
    assert outcomes == ["page", "queued"] * (n // 2)
    assert peak.bytes < 4_000_000


def test_the_inputs_of_a_request_are_found(store: Store) -> None:
    asked = [given(1, 10), given(2, 11), given(3, 10, duplicate_of=1)]
    job_with(store, *asked)
    assert inputs_of(store, JOB, 10) == [asked[0], asked[2]]


def test_inputs_in_an_unknown_encoding_stay_readable(store: Store) -> None:
    job_with(store, Input(1, "caf\udce9\0.test", None, reason="not a host"))
    assert reported(store)[0][1] == "caf\ufffd\ufffd.test"
