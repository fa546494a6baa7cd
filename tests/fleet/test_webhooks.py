"""What a webhook is told of a job, and what becomes of it when nobody listens."""

from __future__ import annotations

import asyncio
import hmac
import time
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from shoal.fleet.submit import submit_asked
from shoal.fleet.webhooks import Webhooks
from shoal.model import Asker, JobSpec, JobState, Webhook
from shoal.settings import Settings
from shoal.store.jobs import create_job, set_state
from shoal.store.store import Store
from shoal.store.tables import deliveries
from shoal.store.webhooks import WAITS_S, claim_deliveries, told_so_far
from shoal.store.writer import Writer
from tests.fleet.receiving import Receiver, receiving
from tests.fleet.running import Running

SECRET = "s3cret"
DOCS = Path(__file__).parents[2] / "docs" / "webhooks.md"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "shoal.db") as opened:
        yield opened


def add_job(store: Store, url: str, secret: str | None = SECRET, asked_by: Asker = Asker.ADMIN) -> None:
    spec = JobSpec("books", webhook=Webhook(url, secret), asked_by=asked_by)
    create_job(store, "j1", lambda: spec, [], 1.0, fleet=True)


def deliver(store: Store, allow_private: bool = True) -> None:
    """Until all that is due now was tried."""

    async def run() -> None:
        writer = Writer(store)
        webhooks = Webhooks(Settings(Path(), allow_private=allow_private), writer)
        try:
            await webhooks.deliver()
            await asyncio.gather(*webhooks._under_way)
        finally:
            await webhooks.close()
            writer.close()

    asyncio.run(run())


def make_due(store: Store) -> None:
    with store.write() as db:
        db.execute(update(deliveries).where(deliveries.c.due_at.is_not(None)).values(due_at=1.0))


def test_every_change_of_state_is_told_once_signed_and_in_order(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.RUNNING, 2.0)
    set_state(store, "j1", JobState.RUNNING, 3.0)
    set_state(store, "j1", JobState.FAILED, 4.0, "no page could be fetched")
    deliver(store)
    deliver(store)
    assert receiver.states == ["running", "failed"]
    said, (headers, body) = receiver.told[1], receiver.got[1]
    assert (said["job"], said["name"], said["before"]) == ("j1", "books", "running")
    assert (said["reason"], said["at"]) == ("no page could be fetched", "1970-01-01T00:00:04.000Z")
    assert headers["Webhook-Id"] == said["delivery"] and abs(int(headers["Webhook-Timestamp"]) - time.time()) < 60
    signed = f"{headers['Webhook-Id']}.{headers['Webhook-Timestamp']}.".encode() + body
    expected = b64encode(hmac.digest(SECRET.encode(), signed, sha256)).decode()
    assert headers["Webhook-Signature"] == f"v1,{expected}"
    assert told_so_far(store, "j1").delivered == 2


def test_the_check_of_the_docs_takes_what_is_ours_and_nothing_else(store: Store, receiver: Receiver) -> None:
    code = DOCS.read_text().partition("```python\n")[2].partition("```")[0]
    known: dict[str, Any] = {}
    exec(code, known)
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    deliver(store)
    headers, body = receiver.got[0]
    assert known["is_ours"](SECRET, headers, body)
    assert not known["is_ours"]("other", headers, body)
    assert not known["is_ours"](SECRET, headers, body + b" ")


def test_a_job_without_a_webhook_has_nothing_to_tell(store: Store) -> None:
    create_job(store, "j1", lambda: JobSpec("books"), [], 1.0, fleet=True)
    set_state(store, "j1", JobState.DONE, 2.0)
    assert claim_deliveries(store, 10.0, 10) == []


def test_without_a_secret_nothing_is_signed(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url, secret=None)
    set_state(store, "j1", JobState.DONE, 2.0)
    deliver(store)
    assert "Webhook-Signature" not in receiver.got[0][0]


def test_what_is_refused_is_told_again_later_under_the_same_id(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    receiver.answers = [500, 302]
    deliver(store)
    deliver(store)
    assert len(receiver.got) == 1, "not at once"
    assert told_so_far(store, "j1").fault == "it answered 500"
    make_due(store)
    deliver(store)
    assert len(receiver.got) == 2, "the redirect is not followed"
    assert told_so_far(store, "j1").fault == "it answered 302, and redirects are not followed"
    make_due(store)
    deliver(store)
    assert len({said["delivery"] for said in receiver.told}) == 1
    assert (told_so_far(store, "j1").delivered, told_so_far(store, "j1").fault) == (1, None)


def test_what_nobody_takes_is_given_up_with_the_reason(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    receiver.answers = [503] * 100
    for _ in range(len(WAITS_S) + 3):
        make_due(store)
        deliver(store)
    assert len(receiver.got) == len(WAITS_S) + 1
    told = told_so_far(store, "j1")
    assert (told.waiting, told.given_up, told.fault) == (0, 1, "it answered 503")


def test_a_private_address_needs_the_operators_setting_and_is_given_up_at_once(
    store: Store, receiver: Receiver
) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    deliver(store, allow_private=False)
    assert receiver.got == []
    assert told_so_far(store, "j1").given_up == 1 and "private" in (told_so_far(store, "j1").fault or "")


def test_a_private_address_is_not_for_jobs_of_a_submitter_whatever_the_setting(
    store: Store, receiver: Receiver
) -> None:
    add_job(store, receiver.url, asked_by=Asker.SUBMITTER)
    set_state(store, "j1", JobState.DONE, 2.0)
    deliver(store, allow_private=True)
    assert receiver.got == [] and "admin" in (told_so_far(store, "j1").fault or "")


def test_a_delivery_is_claimed_by_one_and_counts_though_its_process_dies(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    assert [one.attempts for one in claim_deliveries(store, 10.0, 10)] == [1]
    assert claim_deliveries(store, 11.0, 10) == []
    assert [one.attempts for one in claim_deliveries(store, 100.0, 10)] == [2]
    with store.read() as db:
        assert db.execute(select(deliveries.c.attempts)).scalar() == 2


def test_a_fleet_tells_of_a_job_from_its_start_to_its_end(tmp_path: Path, receiver: Receiver) -> None:
    with Running(tmp_path, workers=0) as fleet:
        options = {"webhook": receiver.url, "webhook_secret": SECRET}
        by, urls = Asker.OPERATOR, ["https://example.com/"]
        sent = fleet.by_hand(lambda opened: submit_asked(opened, urls, None, None, options, by=by)).id
        fleet.until(lambda: receiver.states == ["running"])
        assert fleet("cancel", sent).code == 0
        fleet.until(lambda: receiver.states == ["running", "cancelled"])
        fleet.until(lambda: "2 delivered" in fleet("job", sent).out)
