"""Tells whoever asked for it when the state of a job changes: by POST, signed, at least once, and not for ever.

    Webhook-Id          the same over all attempts, for whoever wants each once
    Webhook-Timestamp   seconds since the epoch
    Webhook-Signature   v1,<base64 of HMAC-SHA256 over "id.timestamp.body" with the secret>

An answer of 2xx is success, and no redirect is followed. Whatever address a job may crawl, its webhook leads to a
private one only by the setting of the process that tells it, and never if a mere submitter asked for the job.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from itertools import groupby
from operator import attrgetter

from shoal.errors import Unavailable
from shoal.fetch.curl import Fetcher
from shoal.fetch.exchange import Exchange, Failure, FailureKind
from shoal.fetch.guard import Guard
from shoal.fetch.transfer import Fetch
from shoal.model import Asker
from shoal.settings import Settings
from shoal.store.columns import iso_time
from shoal.store.webhooks import Delivery, claim_deliveries, note_delivered, note_fault
from shoal.store.writer import Writer
from shoal.telemetry import Events

AT_ONCE = 20
DEADLINE_S = 10.0
ANSWER_BYTES = 64_000
"""What an answer says besides its status is read no further."""
OWN_KEY = "SHOAL_ALLOW_PRIVATE=on at tend"

log = Events(__name__)


class Webhooks:
    def __init__(self, settings: Settings, writer: Writer) -> None:
        self._writer = writer
        self._fetcher = Fetcher(settings.user_agent, Guard(settings.allow_private, OWN_KEY))
        public = Guard(way_out=f"a job of an admin together with {OWN_KEY}")
        self._public_fetcher = Fetcher(settings.user_agent, public)
        self._under_way: set[asyncio.Task[None]] = set()

    async def deliver(self) -> None:
        """Begins what is due and does not wait for it. Raises Unavailable."""
        for task in [task for task in self._under_way if task.done()]:
            self._under_way.remove(task)
            task.result()
        room = AT_ONCE - len(self._under_way)
        due = await self._writer.run(claim_deliveries, time.time(), room) if room > 0 else []
        for _, of_one_job in groupby(sorted(due, key=attrgetter("job")), attrgetter("job")):
            self._under_way.add(asyncio.create_task(self._tell(list(of_one_job))))

    async def close(self) -> None:
        """What is under way is cut off, and told once more by the next tend."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._fetcher.aclose()
        await self._public_fetcher.aclose()

    async def _tell(self, deliveries: Sequence[Delivery]) -> None:
        """One after the other, so that states come in their order unless one has to be repeated."""
        for delivery in deliveries:
            fetcher = self._public_fetcher if delivery.asked_by is Asker.SUBMITTER else self._fetcher
            answer = await fetcher.fetch(_call(delivery, int(time.time())))
            try:
                await self._note(delivery, answer)
            except Unavailable:
                # Claimed as it is, it is told once more later.
                return

    async def _note(self, delivery: Delivery, answer: Exchange | Failure) -> None:
        fault = _fault(answer)
        if fault is None:
            return await self._writer.run(note_delivered, delivery.id, time.time())
        refused = isinstance(answer, Failure) and answer.kind is FailureKind.ADDRESS_REFUSED
        if await self._writer.run(note_fault, delivery, time.time(), fault, refused):
            words = f"job {delivery.job}: its webhook was not told of {delivery.said['state']}: {fault}"
            log.warning("webhook_given_up", words, job=delivery.job, delivery=delivery.id)


def _call(delivery: Delivery, at: int) -> Fetch:
    said = {"delivery": delivery.id, **delivery.said, "at": iso_time(delivery.said["at"])}
    body = json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")
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


def signature(secret: str, id: str, at: int, body: bytes) -> str:
    signed = f"{id}.{at}.".encode() + body
    key = secret.encode("utf-8", "surrogatepass")
    return f"v1,{b64encode(hmac.digest(key, signed, sha256)).decode()}"


def _fault(answer: Exchange | Failure) -> str | None:
    if isinstance(answer, Failure):
        return answer.detail
    if 200 <= answer.status < 300:
        return None
    redirects = ", and redirects are not followed" if 300 <= answer.status < 400 else ""
    return f"it answered {answer.status}{redirects}"
