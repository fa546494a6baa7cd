"""Lets a request reach its host only when the host's clock allows it, also one that Scrapy sends past its scheduler.

A leased request starts at the time of its lease. Any other (robots.txt, media, `engine.download`) waits for a lease of
its own, unless the downloader middlewares still keep a leased request of the host: then it takes the place of that one,
which waits for another lease. So robots.txt is fetched in the slot of the request that needs it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from shoal.engine.leasing.start_times import HOSTS_REMEMBERED, StartTimes
from shoal.fetch.exchange import retry_after_s
from shoal.model import Landing, Lease
from shoal.scrapy.held_request import HeldRequest, failure_kind
from shoal.scrapy.inline_leases import InlineRequest
from shoal.scrapy.outbox import Outbox
from shoal.scrapy.request_json import host_of

LATE_S = 0.02
"""A start that is this much late is reported: less is jitter."""
_LOCAL = ("data:", "file:")
Send = Callable[[], Awaitable[Any]]


class _Start(NamedTuple):
    """When a request may be sent, and the lease that allows it."""

    token: int
    at: float
    gap_s: float


class DownloadGate:
    def __init__(
        self, held: dict[Any, HeldRequest], starts: StartTimes, outbox: Outbox, hurry: Callable[[], None]
    ) -> None:
        """`held`: the leased requests that Scrapy works on. `hurry` is called when a request needs a lease."""
        self._held = held
        self._starts = starts
        self._outbox = outbox
        self._hurry = hurry
        self._waiting: dict[int, Any] = {}
        """Number -> what fires with the start of that request."""
        self._asked = 0
        self._latency_s: dict[str, float] = {}

    def install(self, downloader: Any) -> None:
        enqueue = downloader._enqueue_request

        def enqueue_request(request: Any, *spider: Any) -> Any:
            if self._may_start(request):
                return enqueue(request, *spider)
            if iscoroutinefunction(enqueue):
                return self._send_when_due(request, lambda: enqueue(request))
            # Scrapy 2.13
            send: Send = lambda: maybe_deferred_to_future(enqueue(request, *spider))  # noqa: E731
            return deferred_from_coro(self._send_when_due(request, send))

        downloader._enqueue_request = enqueue_request

    def give(self, leases: list[Lease]) -> None:
        """The leases of requests that wait here."""
        for lease in leases:
            start = _Start(lease.token, time.monotonic() + lease.wait_s, lease.gap_s)
            if (due := self._waiting.pop(lease.target.fingerprint, None)) is not None:
                due.callback(start)

    def fail(self, error: BaseException) -> None:
        """Ends the waiting: no lease will come."""
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            each.errback(error)

    def landing(self, held: HeldRequest, response: Any) -> Landing | None:
        """What a leased request tells the frontier when its response has arrived; None if its slot is not its own."""
        if held.slot_left:
            return None
        if held.lease.gap_s:
            self._note_latency(held.lease.target.host, held.latency_s)
        return landing_of(held.lease.token, held.start_at, held.latency_s, response)

    def _may_start(self, request: Any) -> bool:
        held = self._held.get(request)
        if held is None:
            return str(request.url).startswith(_LOCAL)
        held.sent = True
        if held.lease.gap_s and not held.slot_left:
            self._leave_late(held)
        return not held.slot_left

    def _leave_late(self, held: HeldRequest) -> None:
        """The middlewares kept it until other starts of the host were due. Several of them at once would be a burst."""
        host, gap_s, now = held.lease.target.host, held.lease.gap_s, time.monotonic()
        late_s = now - held.given_at
        if late_s <= LATE_S:
            return
        if host in self._latency_s and (late_s > gap_s or self._starts.early_s(host, gap_s) > 0):
            held.slot_left = True
            self._outbox.land(Landing(held.lease.token, self._latency_s[host], None))
        else:
            self._starts.begin(host, gap_s)

    async def _send_when_due(self, request: Any, send: Send) -> Any:
        host = host_of(request.url)
        kept = None if request in self._held else self._kept_request(host)
        if kept is not None:
            kept.slot_left = True
            start = _Start(kept.lease.token, kept.start_at, kept.lease.gap_s)
            return await self._sent(request, host, start, send)
        start = await maybe_deferred_to_future(self._lease(request.url, host))
        try:
            while (wait_s := max(start.at - time.monotonic(), self._starts.early_s(host, start.gap_s))) > 0:
                await maybe_deferred_to_future(_after(wait_s))
            self._starts.begin(host, start.gap_s)
            return await self._sent(request, host, start, send)
        finally:
            self._outbox.leave(start.token)
            self._hurry()

    def _kept_request(self, host: str) -> HeldRequest | None:
        """A leased request of the host that the middlewares keep: it may be waiting for the one that needs a slot."""
        kept = (each for each in self._held.values() if not (each.sent or each.slot_left or each.landed))
        return next((each for each in kept if each.lease.target.host == host), None)

    def _lease(self, url: str, host: str) -> Any:
        self._asked += 1
        due = self._waiting[self._asked] = Deferred()
        self._outbox.ask(InlineRequest(self._asked, url, host))
        self._hurry()
        return due

    async def _sent(self, request: Any, host: str, start: _Start, send: Send) -> Any:
        began_at = time.monotonic()
        failure: str | None = "cancelled"
        response = None
        try:
            response = await send()
            return response
        except Exception as error:
            # Only noted: the clock of the host learns from it.
            failure = failure_kind(error)
            raise
        finally:
            latency_s = request.meta.get("download_latency", time.monotonic() - began_at)
            if response is not None:
                self._note_latency(host, latency_s)
                self._outbox.land(landing_of(start.token, start.at, latency_s, response))
            else:
                self._outbox.land(Landing(start.token, latency_s, None, failure))

    def _note_latency(self, host: str, latency_s: float) -> None:
        if len(self._latency_s) > HOSTS_REMEMBERED:
            self._latency_s.clear()
        self._latency_s[host] = latency_s


def landing_of(token: int, start_at: float, latency_s: float, response: Any) -> Landing:
    late_s = max(0.0, time.monotonic() - latency_s - start_at)
    after_s = None
    if response.status in (429, 503):
        after_s = retry_after_s(response.headers.get(b"Retry-After", b"").decode("latin1"), time.time())
    landing = Landing(token, latency_s, response.status, None, after_s)
    landing.late_s = late_s if late_s > LATE_S else 0.0
    return landing


def _after(seconds: float) -> Any:
    from twisted.internet import reactor

    due: Any = Deferred()
    reactor.callLater(seconds, due.callback, None)
    return due
