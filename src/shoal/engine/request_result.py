"""The result of a request: what to store, what to offer, and how its lease completes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from shoal.fetch.body_memory import BodyHold
from shoal.frontier.serialize import request_text
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
from shoal.store.crawl.save_batch import SelectorUse
from shoal.urls import PageLinks
from shoal.urls.resolve_links import Link, add_sample
from shoal.urls.traps import PREFIX as TRAP

OFFERED_AT_ONCE = 5_000
"""Targets in one frontier call, which takes about 4 ms, so that the links of a big page delay nothing else."""

NOT_RENDERED = "not_rendered"
"""The mark of a page that needs a browser, where none starts."""


class Listing(Enum):
    """A document that lists URLs."""

    SITEMAP = "sitemap"
    """Its URLs are requested like the job's own, and further sitemaps that it names are read."""
    FEED = "feed"
    """Its URLs are links, like those of a page."""


@dataclass(slots=True)
class RequestResult:
    """What a lease led to."""

    lease: Lease
    completion: Completion
    record: PageRecord | RedirectRecord | DeadLetter | Drop | None = None
    """None: the request will be retried."""
    offers: list[Offer] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    """The links behind the offers: the frontier knows them once it has the offers."""
    skips: dict[str, int] = field(default_factory=dict)
    trapped: dict[str, list[str]] = field(default_factory=dict)
    """Reason -> the first few URLs of links skipped as traps."""
    matches: dict[SelectorUse, bool] = field(default_factory=dict)
    """Selectors of the spider that had not matched on any page before, and whether they do on this one."""
    dropped_items: Mapping[str, int] = field(default_factory=dict)
    """Items that the spider's steps dropped, by reason."""
    lacks_items: bool = False
    """The spider found no item on the page, although it looked for some: an `each` matched nothing, or a required field
    was missing."""
    listing: Listing | None = None
    """The URLs of such a document are offered part by part, before the result is saved."""
    listed: int = 0
    """How many of them were offered."""
    failed: tuple[str, int | None] | None = None
    """An attempt that failed, or was incomplete: its kind, and the status if there was an answer."""
    why: str = ""
    """Details, if the kind does not say it all."""
    proxy: str = ""
    """The name of the proxy that the request went through."""
    capture: Capture | None = None
    """For the archive."""
    hold: BodyHold | None = None
    """The part of the body memory that its body takes until it is in the archive."""


def retry(
    lease: Lease, kind: str, status: int | None, delay_s: float, started: bool = True, trail: Trail | None = None
) -> RequestResult:
    completion = Completion(lease.token, Outcome.RETRY, kind, delay_s, trail, started=started)
    return RequestResult(lease, completion, failed=(kind, status))


def again(lease: Lease) -> RequestResult:
    """The same request once more, without a condition. Not counted as a failed attempt. Its own fingerprint in the
    chain shows that it was tried before."""
    trail = lease.trail._replace(chain=(*lease.trail.chain, lease.target.fingerprint))
    return RequestResult(lease, Completion(lease.token, Outcome.RETRY, trail=trail, counted=False))


def in_browser(lease: Lease) -> RequestResult:
    """The same request once more, in a browser. Nothing of the plain page is kept, so both are one page."""
    return RequestResult(lease, Completion(lease.token, Outcome.RETRY, counted=False, needs_browser=True))


def elsewhere(lease: Lease, was_sent: bool = True) -> RequestResult:
    """The same request once more, through another proxy. Counts neither against the request nor against its host."""
    completion = Completion(lease.token, Outcome.RETRY, "proxy", counted=False, started=was_sent)
    return RequestResult(lease, completion)


def put_off(lease: Lease, priority: int, wait_s: float = 0.0) -> RequestResult:
    """The request waits with this priority, and at least so long. Nothing was sent."""
    trail = lease.trail._replace(priority=priority)
    completion = Completion(lease.token, Outcome.RETRY, delay_s=wait_s, trail=trail, counted=False, started=False)
    return RequestResult(lease, completion)


def dead(lease: Lease, kind: str, status: int | None, detail: str, started: bool = True) -> RequestResult:
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
    completion = Completion(lease.token, Outcome.DEAD, reason=kind, started=started)
    return RequestResult(lease, completion, letter, failed=(kind, status))


def drop(lease: Lease, reason: str, detail: str, started: bool = True) -> RequestResult:
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
    return RequestResult(lease, Completion(lease.token, Outcome.DROP, reason=reason, started=started), refused)


def add_links(done: RequestResult, links: PageLinks) -> None:
    """Adds the links to follow, and counts the others."""
    add_skips(done, links.skipped)
    for reason, urls in links.trapped.items():
        for url in urls:
            add_sample(done.trapped.setdefault(reason, []), url)


def add_refusal(done: RequestResult, reason: str, url: str) -> None:
    """Counts one refused URL."""
    add_skips(done, {reason: 1})
    if reason.startswith(TRAP):
        add_sample(done.trapped.setdefault(reason, []), url)


def add_skips(done: RequestResult, more: dict[str, int]) -> None:
    for reason, n in more.items():
        if n:
            done.skips[reason] = done.skips.get(reason, 0) + n
