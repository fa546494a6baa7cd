from __future__ import annotations

from shoal.store.crawl.ended_requests import EndedRequest, ended_requests
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.store import Store
from tests.store.make import JOB, dead_letter, drop, page, redirect

LEAST, MOST = -(2**63), 2**63 - 1


def all_of(store: Store, at_once: int) -> list[EndedRequest]:
    found: list[EndedRequest] = []
    while part := ended_requests(store, JOB, found[-1] if found else None, at_once):
        assert len(part) <= at_once and part[0] not in found
        found += part
    return found


def test_every_ended_request_is_returned_once_whatever_the_limit(store: Store) -> None:
    pages = [page(n, bytes=n % 7) for n in (LEAST, -5, 0, 5, MOST)]
    redirects = [redirect(LEAST + 1, 5), redirect(7, None, reason="not HTTP")]
    save(
        store, Batch(JOB, pages, redirects, [dead_letter(8, reason="timeout")], [drop(9), drop(10, reason="excluded")])
    )
    other = page(99)
    other.job = "j2"
    save(store, Batch("j2", [other]))
    expected = [EndedRequest(n, "site.test", "page", n % 7, "") for n in (LEAST, -5, 0, 5, MOST)]
    expected += [
        EndedRequest(LEAST + 1, "site.test", "redirect", 0, ""),
        EndedRequest(7, "site.test", "redirect", 0, "not HTTP"),
    ]
    expected += [EndedRequest(8, "site.test", "dead", 0, "timeout")]
    expected += [
        EndedRequest(9, "site.test", "drop", 0, "robots"),
        EndedRequest(10, "site.test", "drop", 0, "excluded"),
    ]
    for at_once in (1, 3, 5, 100):
        assert all_of(store, at_once) == expected


def test_a_job_without_ended_requests_returns_none(store: Store) -> None:
    assert all_of(store, 10) == []
