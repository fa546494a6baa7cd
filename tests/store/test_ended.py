from __future__ import annotations

from shoal.store.batch import Batch, save
from shoal.store.ended import Ended, ended_requests
from shoal.store.store import Store
from tests.store.make import JOB, dead_letter, drop, page, redirect

LEAST, MOST = -(2**63), 2**63 - 1


def all_of(store: Store, at_once: int) -> list[Ended]:
    found: list[Ended] = []
    while part := ended_requests(store, JOB, found[-1] if found else None, at_once):
        assert len(part) <= at_once and part[0] not in found
        found += part
    return found


def test_every_request_that_has_ended_is_given_once_however_many_at_once(store: Store) -> None:
    pages = [page(n, bytes=n % 7) for n in (LEAST, -5, 0, 5, MOST)]
    redirects = [redirect(LEAST + 1, 5), redirect(7, None, reason="not HTTP")]
    save(
        store, Batch(JOB, pages, redirects, [dead_letter(8, reason="timeout")], [drop(9), drop(10, reason="excluded")])
    )
    other = page(99)
    other.job = "j2"
    save(store, Batch("j2", [other]))
    expected = [Ended(n, "site.test", "page", n % 7, "") for n in (LEAST, -5, 0, 5, MOST)]
    expected += [Ended(LEAST + 1, "site.test", "redirect", 0, ""), Ended(7, "site.test", "redirect", 0, "not HTTP")]
    expected += [Ended(8, "site.test", "dead", 0, "timeout")]
    expected += [Ended(9, "site.test", "drop", 0, "robots"), Ended(10, "site.test", "drop", 0, "excluded")]
    for at_once in (1, 3, 5, 100):
        assert all_of(store, at_once) == expected


def test_of_a_job_in_which_nothing_has_ended_there_is_nothing(store: Store) -> None:
    assert all_of(store, 10) == []
