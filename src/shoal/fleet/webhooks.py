"""Sends webhooks when the state of a job changes: a signed POST, at least once, with a limited number of attempts.

    Webhook-Id          the same for all attempts, so that receivers can ignore repeats
    Webhook-Timestamp   seconds since the epoch
    Webhook-Signature   v1,<base64 of HMAC-SHA256 over "id.timestamp.body" with the secret>

A 2xx answer is success; redirects are not followed. Whatever addresses the job may crawl, its webhook may have a
private address only if the setting of the sending process allows it, and never if a submit token made the job.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from shoal.errors import Unavailable
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure, FailureKind
from shoal.model import Requester
from shoal.model.webhook_signature import signature
from shoal.settings import Settings
from shoal.store.async_store import AsyncStore
from shoal.store.fleet.webhooks import Delivery, claim_deliveries, note_delivered, note_fault
from shoal.store.results.columns import iso_time
from shoal.store.results.job_figures import brief_figures
from shoal.telemetry import EventLogger

AT_ONCE = 20
DEADLINE_S = 10.0
ANSWER_BYTES = 64_000
"""The rest of an answer's body is not read."""
OWN_KEY = "SHOAL_ALLOW_PRIVATE=on at tend"

log = EventLogger(__name__)


class Webhooks:
    def __init__(self, settings: Settings, async_store: AsyncStore) -> None:
        self._async_store = async_store
        self._fetcher = Fetcher(settings.user_agent, AddressGuard(settings.allow_private, OWN_KEY))
        public = AddressGuard(way_out=f"a job of an admin together with {OWN_KEY}")
        self._public_fetcher = Fetcher(settings.user_agent, public)
        self._sending: set[asyncio.Task[None]] = set()

    async def deliver(self) -> None:
        """Starts to send the due webhooks and does not wait for them. Raises Unavailable."""
        for task in [task for task in self._sending if task.done()]:
            self._sending.remove(task)
            task.result()
        room = AT_ONCE - len(self._sending)
        due = await self._async_store.run(claim_deliveries, time.time(), room) if room > 0 else []
        for _, of_one_job in groupby(sorted(due, key=attrgetter("job")), attrgetter("job")):
            self._sending.add(asyncio.create_task(self._send(list(of_one_job))))

    async def close(self) -> None:
        """Cancels running deliveries; the next tend repeats them."""
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self._fetcher.aclose()
        await self._public_fetcher.aclose()

    async def _send(self, deliveries: Sequence[Delivery]) -> None:
        """Sends one after the other, so that states arrive in order unless one is repeated."""
        for delivery in deliveries:
            fetcher = self._public_fetcher if delivery.asked_by is Requester.SUBMITTER else self._fetcher
            try:
                figures = await self._async_store.read(brief_figures, delivery.job)
                answer = await fetcher.fetch(_call(delivery, figures, int(time.time())))
                await self._note(delivery, answer)
            except Unavailable:
                # It stays claimed, and is sent again later.
                return

    async def _note(self, delivery: Delivery, answer: Exchange | Failure) -> None:
        fault = _fault(answer)
        if fault is None:
            return await self._async_store.run(note_delivered, delivery.id, time.time())
        refused = isinstance(answer, Failure) and answer.kind is FailureKind.ADDRESS_REFUSED
        if await self._async_store.run(note_fault, delivery, time.time(), fault, refused):
            text = f"job {delivery.job}: gave up on the webhook for state {delivery.payload['state']}: {fault}"
            log.warning("webhook_given_up", text, job=delivery.job, delivery=delivery.id)


def _call(delivery: Delivery, figures: Mapping[str, Any], at: int) -> Fetch:
    content = {"delivery": delivery.id, **delivery.payload, "at": iso_time(delivery.payload["at"]), "figures": figures}
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Webhook-Id": delivery.id, "Webhook-Timestamp": str(at)}
    if delivery.webhook.secret is not None:
        headers["Webhook-Signature"] = signature(delivery.webhook.secret, delivery.id, at, body)
    return Fetch(
        url=delivery.webhook.url,
        method="POST",
        body=body,
        content_type="application/json",
        headers=headers,
        max_bytes=ANSWER_BYTES,
        truncate=True,
        deadline_s=DEADLINE_S,
    )


def _fault(answer: Exchange | Failure) -> str | None:
    if isinstance(answer, Failure):
        return answer.detail
    if 200 <= answer.status < 300:
        return None
    redirects = ", and redirects are not followed" if 300 <= answer.status < 400 else ""
    return f"it answered {answer.status}{redirects}"
