"""A leased request while Scrapy works on it, and how it ends."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from shoal.frontier.serialize import request_text
from shoal.model import Completion, DeadLetter, Drop, ItemRecord, Lease, Outcome, PageRecord, RedirectRecord, Trail
from shoal.model.record import HANDLED
from shoal.store.crawl.save_batch import Record

IGNORED = "ignored"
SPIDER_ERROR = "callback"
UNREADABLE = "unreadable"
_FAILURES = {
    "DNSLookupError": "dns",
    "ResolutionError": "dns",
    "TimeoutError": "timeout",
    "TCPTimedOutError": "timeout",
}
_FAILURES |= {"DownloadTimeoutError": "timeout", "CannotResolveHostError": "dns", "ResponseFailed": "protocol"}


def failure_kind(error: BaseException) -> str:
    """The frontier's word for a failed download."""
    return _FAILURES.get(type(error).__name__, "connect")


@dataclass(slots=True, eq=False)
class HeldRequest:
    lease: Lease
    start_at: float
    """By the monotonic clock: when the host's clock allows it."""
    line: tuple[str, str, bytes] = ("", "", b"")
    """Method, URL and body."""
    given_at: float = 0.0
    """When Scrapy got it."""
    sent: bool = False
    """The downloader middlewares let it pass."""
    slot_left: bool = False
    """Another request used its slot at the host, or it was too late for it: it is sent with another lease."""
    landed: bool = False
    received: bool = False
    """Scrapy passed a response to the spider middlewares."""
    called: bool = False
    """A callback or errback took the response or the failure."""
    status: int | None = None
    latency_s: float = 0.0
    bytes: int = 0
    content_type: str = ""
    digest: str = ""
    redirect: tuple[str, int] | None = None
    """URL and fingerprint of the request that a downloader middleware returned in its place."""
    retry: Trail | None = None
    failure: str = ""
    ignored: str = ""
    """Why a downloader middleware refused the request."""
    detail: str = ""
    """The error that made it a dead letter, as text for a person."""
    repeated: dict[int, int] = field(default_factory=dict)
    items: list[ItemRecord] = field(default_factory=list)
    found: list[Any] = field(default_factory=list)
    """The requests that its callback has yielded, while it is held."""

    @property
    def fingerprint(self) -> int:
        return self.lease.target.fingerprint

    @property
    def outcome(self) -> tuple[Outcome, str]:
        """The outcome, with its reason."""
        if self.retry is not None:
            return Outcome.RETRY, ""
        if self.failure == SPIDER_ERROR:
            return Outcome.DEAD, SPIDER_ERROR
        if self.received:
            is_refused = self.status is not None and self.status >= 400 and not self.called
            return (Outcome.DEAD, "http") if is_refused else (Outcome.DONE, "")
        if self.redirect:
            return Outcome.REDIRECT, ""
        if self.failure:
            return (Outcome.DROP, HANDLED) if self.called else (Outcome.DEAD, self.failure)
        return Outcome.DROP, self.ignored or IGNORED

    def completion(self) -> Completion:
        outcome, reason = self.outcome
        # A response from Scrapy's cache was never requested from the host.
        return Completion(self.lease.token, outcome, reason, trail=self.retry, started=self.landed, bytes=self.bytes)

    def record(self) -> Record | None:
        """What the store keeps; None for a retry, which has not ended."""
        outcome, reason = self.outcome
        target, trail = self.lease.target, self.lease.trail
        at: dict[str, Any] = {"job": self.lease.job, "fingerprint": target.fingerprint, "token": self.lease.token}
        at |= {"url": target.url, "host": target.host, "depth": trail.depth, "parent": trail.parent}
        now = time.time()
        match outcome:
            case Outcome.DONE:
                return self._page(at, now)
            case Outcome.REDIRECT:
                url, found = self.redirect or ("", 0)
                return RedirectRecord(
                    **at, status=self.status or 0, target=url, target_fingerprint=found, reason=None, fetched_at=now
                )
            case Outcome.DEAD:
                attempts = self.lease.attempt + 1
                text = request_text(target, trail)
                return DeadLetter(
                    **at,
                    reason=reason,
                    status=self.status,
                    detail=self.detail,
                    attempts=attempts,
                    died_at=now,
                    request=text,
                )
            case Outcome.DROP:
                return Drop(**at, reason=reason, detail=self.detail, dropped_at=now, items=self.items)
        return None

    def _page(self, at: dict[str, Any], now: float) -> PageRecord:
        return PageRecord(
            **at,
            status=self.status or 0,
            content_type=self.content_type,
            bytes=self.bytes,
            digest=self.digest,
            attempts=self.lease.attempt + 1,
            duration_ms=round(self.latency_s * 1000),
            fetched_at=now,
            items=self.items,
        )
