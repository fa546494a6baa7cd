"""What a webhook is told of a job, and what becomes of it when nobody listens."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from shoal.fleet.submit import submit_request
from shoal.fleet.webhooks import Webhooks
from shoal.model import JobSpec, JobState, Requester, Webhook
from shoal.settings import Settings
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.fleet.webhooks import RETRY_DELAYS_S, claim_deliveries, last_deliveries
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job
from shoal.store.store import Store
from shoal.store.tables import deliveries
from tests.fleet.receiving import Receiver, receiving
from tests.fleet.running import Running
from tests.store.make import page

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


def add_job(store: Store, url: str, secret: str | None = SECRET, asked_by: Requester = Requester.ADMIN) -> None:
    spec = JobSpec("books", webhook=Webhook(url, secret), asked_by=asked_by)
    create_job(store, "j1", lambda: spec, [], 1.0, fleet=True)


def deliver(store: Store, allow_private: bool = True) -> None:
    """Until all that is due now was tried."""

    async def run() -> None:
        async_store = AsyncStore(store)
        webhooks = Webhooks(Settings(Path(), allow_private=allow_private), async_store)
        try:
            await webhooks.deliver()
            await asyncio.gather(*webhooks._sending)
        finally:
            await webhooks.close()
            async_store.close()

    asyncio.run(run())


def make_due(store: Store) -> None:
    with store.write() as db:
        db.execute(update(deliveries).where(deliveries.c.due_at.is_not(None)).values(due_at=1.0))


def test_every_change_of_state_is_sent_once_signed_and_in_order(store: Store, receiver: Receiver) -> None:
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
    assert last_deliveries(store, "j1").delivered == 2


def test_a_message_has_the_jobs_figures(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url)
    pages = [page(number, status=status) for number, status in enumerate((200, 200, 404))]
    save(store, Batch("j1", pages=pages))
    set_state(store, "j1", JobState.DONE, 2.0)
    deliver(store)
    figures = receiver.told[0]["figures"]
    assert (figures["pages"], figures["by_status"], figures["dead"]) == (3, {"200": 2, "404": 1}, 0)
    assert figures["hosts"] == 1 and figures["bytes"] == sum(page.bytes for page in pages) > 0


def test_the_docs_show_a_message_with_all_its_fields(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    deliver(store)
    shown = json.loads(DOCS.read_text().partition("```json\n")[2].partition("```")[0])
    (said,) = receiver.told
    assert shown.keys() == said.keys() and shown["figures"].keys() == said["figures"].keys()


def test_the_signature_check_of_the_docs_accepts_only_valid_signatures(store: Store, receiver: Receiver) -> None:
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


def test_a_job_without_a_webhook_sends_nothing(store: Store) -> None:
    create_job(store, "j1", lambda: JobSpec("books"), [], 1.0, fleet=True)
    set_state(store, "j1", JobState.DONE, 2.0)
    assert claim_deliveries(store, 10.0, 10) == []


def test_without_a_secret_nothing_is_signed(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url, secret=None)
    set_state(store, "j1", JobState.DONE, 2.0)
    deliver(store)
    assert "Webhook-Signature" not in receiver.got[0][0]


def test_a_refused_delivery_is_repeated_with_the_same_id(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    receiver.answers = [500, 302]
    deliver(store)
    deliver(store)
    assert len(receiver.got) == 1, "not at once"
    assert last_deliveries(store, "j1").fault == "it answered 500"
    make_due(store)
    deliver(store)
    assert len(receiver.got) == 2, "the redirect is not followed"
    assert last_deliveries(store, "j1").fault == "it answered 302, and redirects are not followed"
    make_due(store)
    deliver(store)
    assert len({said["delivery"] for said in receiver.told}) == 1
    assert (last_deliveries(store, "j1").delivered, last_deliveries(store, "j1").fault) == (1, None)


def test_an_undeliverable_webhook_is_given_up_with_the_reason(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    receiver.answers = [503] * 100
    for _ in range(len(RETRY_DELAYS_S) + 3):
        make_due(store)
        deliver(store)
    assert len(receiver.got) == len(RETRY_DELAYS_S) + 1
    told = last_deliveries(store, "j1")
    assert (told.waiting, told.given_up, told.fault) == (0, 1, "it answered 503")


def test_a_private_address_needs_the_operators_setting_and_is_given_up_at_once(
    store: Store, receiver: Receiver
) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    deliver(store, allow_private=False)
    assert receiver.got == []
    assert last_deliveries(store, "j1").given_up == 1 and "private" in (last_deliveries(store, "j1").fault or "")


def test_a_private_address_is_not_for_jobs_of_a_submitter_whatever_the_setting(
    store: Store, receiver: Receiver
) -> None:
    add_job(store, receiver.url, asked_by=Requester.SUBMITTER)
    set_state(store, "j1", JobState.DONE, 2.0)
    deliver(store, allow_private=True)
    assert receiver.got == [] and "admin" in (last_deliveries(store, "j1").fault or "")


def test_a_delivery_is_claimed_once_and_counted_even_if_its_process_dies(store: Store, receiver: Receiver) -> None:
    add_job(store, receiver.url)
    set_state(store, "j1", JobState.DONE, 2.0)
    assert [one.attempts for one in claim_deliveries(store, 10.0, 10)] == [1]
    assert claim_deliveries(store, 11.0, 10) == []
    assert [one.attempts for one in claim_deliveries(store, 100.0, 10)] == [2]
    with store.read() as db:
        assert db.execute(select(deliveries.c.attempts)).scalar() == 2


def test_a_fleet_sends_webhooks_from_start_to_end_of_a_job(tmp_path: Path, receiver: Receiver) -> None:
    with Running(tmp_path, workers=0) as fleet:
        options = {"webhook": receiver.url, "webhook_secret": SECRET}
        by, urls = Requester.OPERATOR, ["https://example.com/"]
        sent = fleet.by_hand(lambda opened: submit_request(opened, urls, None, None, options, by=by)).id
        fleet.until(lambda: receiver.states == ["running"])
        assert fleet("cancel", sent).code == 0
        fleet.until(lambda: receiver.states == ["running", "cancelled"])
        fleet.until(lambda: "2 delivered" in fleet("job", sent).out)
