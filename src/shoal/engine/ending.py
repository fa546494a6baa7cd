"""How a request's travel ended: what to store, what to offer, and how its lease completes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from shoal.fetch.intake import Hold
from shoal.frontier.record import request_text
from shoal.model import (
    Completion,
    DeadLetter,
    Drop,
    Lease,
    Offer,
    Outcome,
    PageRecord,
    RedirectRecord,
    Trail,
)
from shoal.store.archive.capture import Capture
from shoal.urls import PageLinks
from shoal.urls.resolve import Link, add_sample
from shoal.urls.traps import PREFIX as TRAP


@dataclass(slots=True)
class Ending:
    lease: Lease
    completion: Completion
    record: PageRecord | RedirectRecord | DeadLetter | Drop | None = None
    """None: the request will be tried again."""
    offers: list[Offer] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    """Those the offers come from: the frontier has them once it has the offers."""
    skips: dict[str, int] = field(default_factory=dict)
    trapped: dict[str, list[str]] = field(default_factory=dict)
    """By reason, the first few URLs of links skipped as traps."""
    failed: tuple[str, int | None] | None = None
    """An attempt that failed, or gave only a part: its kind, and the status if there was an answer."""
    why: str = ""
    """More on that, where the kind does not say it all."""
    capture: Capture | None = None
    """For the archive."""
    hold: Hold | None = None
    """What its body takes of the intake, until it is in the archive."""


def retry(
    lease: Lease, kind: str, status: int | None, delay_s: float, started: bool = True, trail: Trail | None = None
) -> Ending:
    completion = Completion(lease.token, Outcome.RETRY, kind, delay_s, trail, started=started)
    return Ending(lease, completion, failed=(kind, status))


def dead(lease: Lease, kind: str, status: int | None, detail: str) -> Ending:
    letter = DeadLetter(
        job=lease.job,
        fingerprint=lease.target.fingerprint,
        token=lease.token,
        url=lease.target.url,
        host=lease.target.host,
        reason=kind,
        status=status,
        detail=detail,
        depth=lease.trail.depth,
        parent=lease.trail.parent,
        attempts=lease.attempt + 1,
        died_at=time.time(),
        request=request_text(lease.target, lease.trail),
    )
    return Ending(lease, Completion(lease.token, Outcome.DEAD, reason=kind), letter, failed=(kind, status))


def drop(lease: Lease, reason: str, detail: str, started: bool = True) -> Ending:
    refused = Drop(
        job=lease.job,
        fingerprint=lease.target.fingerprint,
        token=lease.token,
        url=lease.target.url,
        host=lease.target.host,
        reason=reason,
        detail=detail,
        depth=lease.trail.depth,
        parent=lease.trail.parent,
        dropped_at=time.time(),
    )
    return Ending(lease, Completion(lease.token, Outcome.DROP, reason=reason, started=started), refused)


def add_links(done: Ending, links: PageLinks) -> None:
    """Counts those that are not followed."""
    add_skips(done, links.skipped)
    for reason, urls in links.trapped.items():
        for url in urls:
            add_sample(done.trapped.setdefault(reason, []), url)


def add_refusal(done: Ending, reason: str, url: str) -> None:
    """Of one URL."""
    add_skips(done, {reason: 1})
    if reason.startswith(TRAP):
        add_sample(done.trapped.setdefault(reason, []), url)


def add_skips(done: Ending, more: dict[str, int]) -> None:
    for reason, n in more.items():
        if n:
            done.skips[reason] = done.skips.get(reason, 0) + n
