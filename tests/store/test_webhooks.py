from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from shoal.model import JobSpec, JobState, Webhook
from shoal.store.fleet.webhooks import (
    CLAIM_S,
    RETRY_DELAYS_S,
    claim_deliveries,
    last_deliveries,
    note_delivered,
    note_fault,
)
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job
from shoal.store.store import Store
from tests.store.make import JOB

HOOK = Webhook("https://hooks.test/", "s3cret")


def tell_states(store: Store, *states: JobState) -> None:
    create_job(store, JOB, lambda: JobSpec("books", webhook=HOOK), [], 0.0, fleet=True)
    for at, state in enumerate(states, 1):
        set_state(store, JOB, state, float(at))


def test_each_change_of_state_and_nothing_else_makes_a_delivery(store: Store) -> None:
    tell_states(store, JobState.RUNNING, JobState.RUNNING, JobState.PAUSED, JobState.RUNNING)
    due = claim_deliveries(store, 10.0, 10)
    assert [(one.payload["before"], one.payload["state"]) for one in due] == [
        ("queued", "running"),
        ("running", "paused"),
        ("paused", "running"),
    ]
    assert {one.webhook for one in due} == {HOOK} and len({one.id for one in due}) == 3


def test_concurrent_claims_share_the_deliveries(store: Store) -> None:
    tell_states(store, *[JobState.RUNNING, JobState.PAUSED] * 10)
    with ThreadPoolExecutor(4) as threads:
        parts = list(threads.map(lambda _: claim_deliveries(store, 99.0, 5), range(4)))
    # Some may have found the same deliveries and claimed none.
    parts.append(claim_deliveries(store, 99.0, 20))
    claimed = [one.id for part in parts for one in part]
    assert len(claimed) == len(set(claimed)) == 20


def test_a_failed_delivery_is_retried_with_growing_delays_and_then_given_up(store: Store) -> None:
    tell_states(store, JobState.DONE)
    now = 10.0
    for wait_s in RETRY_DELAYS_S:
        (one,) = claim_deliveries(store, now, 10)
        assert not note_fault(store, one, now, "it answered 500", for_good=False)
        assert claim_deliveries(store, now + wait_s - 1, 10) == []
        now += wait_s
    (one,) = claim_deliveries(store, now, 10)
    assert note_fault(store, one, now, "it answered 502", for_good=False)
    told = last_deliveries(store, JOB)
    assert (told.delivered, told.waiting, told.given_up, told.fault) == (0, 0, 1, "it answered 502")


def test_a_delivered_change_is_not_sent_again(store: Store) -> None:
    tell_states(store, JobState.DONE)
    (one,) = claim_deliveries(store, 10.0, 10)
    assert last_deliveries(store, JOB).waiting == 1
    note_delivered(store, one.id, 11.0)
    assert claim_deliveries(store, 10.0 + 2 * CLAIM_S, 10) == []
    assert last_deliveries(store, JOB).delivered == 1
