"""Claims on hooks: one process runs a hook, and another takes over from one that died."""

from __future__ import annotations

import time

from shoal.model import JobSpec, JobState
from shoal.store.crawl.job_hooks import (
    ON_FINISH,
    ON_START,
    Claim,
    claim_hook,
    end_hook,
    end_on_start,
    extend_claim,
    jobs_to_finish,
    on_finish_failure,
    shared_of,
    start_offers,
    want_on_finish,
)
from shoal.store.crawl.offer_log import logged_offers
from shoal.store.crawl.overflow import overflow_offers
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job
from shoal.store.store import Store


def make(store: Store, job: str = "job") -> None:
    create_job(store, job, lambda: JobSpec("shop"), [], time.time(), fleet=True)


def claim(store: Store, now: float, hook: str = ON_START, alone: bool = False) -> Claim:
    return claim_hook(store, "job", hook, now, now + 60, alone)


def test_a_hook_is_claimed_once_and_taken_over_when_its_process_died(store: Store) -> None:
    make(store)
    assert claim(store, 100.0) is Claim.MINE
    assert claim(store, 110.0) is Claim.BUSY
    extend_claim(store, "job", ON_START, 200.0)
    assert claim(store, 190.0) is Claim.BUSY
    assert claim(store, 201.0) is Claim.MINE
    assert claim(store, 202.0, alone=True) is Claim.MINE
    end_on_start(store, "job", {"token": "é"}, ["offer 1", "offer 2"])
    assert claim(store, 900.0) is Claim.OVER
    assert shared_of(store, "job") == {"token": "é"}
    assert start_offers(store, "job") == ["offer 1", "offer 2"]
    assert [row.offer for row in overflow_offers(store, "job", 10)] == ["offer 1", "offer 2"]
    assert [row.offers for row in logged_offers(store, "job", 0, 10)] == [["offer 1", "offer 2"]]


def test_on_start_that_failed_runs_again_only_if_its_job_is_opened_again(store: Store) -> None:
    make(store)
    assert claim(store, 100.0) is Claim.MINE
    end_hook(store, "job", ON_START, "it failed")
    set_state(store, "job", JobState.FAILED, 101.0)
    assert claim(store, 900.0) is Claim.BUSY
    set_state(store, "job", JobState.RUNNING, 901.0)
    assert claim(store, 902.0) is Claim.MINE


def test_on_finish_is_due_when_its_job_has_ended_until_it_has_run(store: Store) -> None:
    make(store)
    want_on_finish(store, "job")
    assert jobs_to_finish(store, 0.0) == []
    set_state(store, "job", JobState.DONE, 100.0)
    assert jobs_to_finish(store, 100.0) == ["job"]
    assert claim(store, 100.0, ON_FINISH) is Claim.MINE
    assert jobs_to_finish(store, 110.0) == []
    assert jobs_to_finish(store, 161.0) == ["job"]
    end_hook(store, "job", ON_FINISH, "no mail")
    want_on_finish(store, "job")
    assert jobs_to_finish(store, 900.0) == []
    assert claim(store, 900.0, ON_FINISH) is Claim.OVER
    assert on_finish_failure(store, "job") == "no mail"
