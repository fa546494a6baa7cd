"""A request and its life: where it goes, how it was found, who holds it, and how it ends.

Classes that are made for every request are not frozen, though nothing changes them: frozen ones take three times as
long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from shoal.model.rendering import Render
from shoal.model.request_options import RequestOptions


class Target(NamedTuple):
    """Where a request goes. Two targets are the same request exactly if their fingerprints are equal."""

    url: str
    fingerprint: int
    host: str
    method: str = "GET"
    body: bytes = b""
    content_type: str = ""
    note: str = ""
    """What whoever offers the target keeps with it alone. A target with a note also keeps its given fingerprint;
    otherwise that is computed again from method, URL and body."""

    @property
    def is_plain(self) -> bool:
        """A GET without a body: the URL is the whole request."""
        return self.method == "GET" and not self.body and not self.note


MILLION = 1_000_000
"""Costs are counted in millionths, so that their sums are exact."""

LAST = -1
"""A priority that is served after everything else of its host."""

OUR_OWN = "#"
"""The callbacks of sitemaps and assets begin with it, and no spider's does."""
ASSET = "#asset"
"""Callback of requests for what a page needs to be looked at, and for files of items. They need not be in scope, they
are not read, and they count apart from pages. No spider's callback can have this name."""


class Trail(NamedTuple):
    """How a request was found. The links of one page share it."""

    depth: int = 0
    priority: int = 0
    parent: int | None = None
    callback: str = ""
    meta: Mapping[str, Any] | None = None
    chain: tuple[int, ...] = ()
    """Fingerprints of the redirects that led here, oldest first."""
    options: RequestOptions | None = None
    input: Mapping[str, str] | None = None
    """The columns of the row of the input list that led here, if the list had columns."""

    @property
    def is_asset(self) -> bool:
        return self.callback == ASSET

    @property
    def needs_browser(self) -> bool | None:
        """Whether only a worker with a browser may have the request; None: as the job has it. With `render="auto"` any
        worker fetches it first."""
        if self.callback.startswith(OUR_OWN):
            return False
        return None if self.options is None or self.options.render is None else self.options.render is Render.ALWAYS


class Offer(NamedTuple):
    """Targets found together, for one job."""

    job: str
    targets: list[Target]
    trail: Trail = Trail()


class Outcome(StrEnum):
    """How a lease ended."""

    DONE = "done"
    REDIRECT = "redirect"
    RETRY = "retry"
    DROP = "drop"
    DEAD = "dead"


@dataclass(slots=True)
class Lease:
    """A request held until a deadline. The worker that completes it must still hold the token."""

    token: int
    job: str
    target: Target
    trail: Trail
    attempt: int
    """Attempts that have failed so far."""
    crashes: int
    """How often the process died while it was parsing this request's page."""
    wait_s: float
    """The host's clock allows the request only after this many seconds."""
    gap_s: float
    """The host's gap between two starts. A holder that starts late must still keep it."""
    unreachable: bool
    """The host has never answered this job, although it was tried long enough: do not fetch."""
    edition: int
    """The job's edition when this was leased. A holder with an older one loads the job again."""
    malformed: bool = False
    """The queued request could not be read, and the target is a stand-in: do not fetch."""
    needs_browser: bool = False
    """It was queued for workers with a browser."""


@dataclass(slots=True)
class Landing:
    """A fetch has ended: the body has arrived, or will not. This frees a slot of the host, whose clock learns."""

    token: int
    latency_s: float
    status: int | None
    """None: no complete answer; `failure` says which kind."""
    failure: str | None = None
    retry_after_s: float | None = None
    late_s: float = 0.0
    """How much later than planned the request began. The host's next start keeps its gap from then."""
    address: str = ""
    """The address that answered, if it is known: hosts of one domain at one address share a rate."""
    domain: str = ""
    """The registrable domain of the host, with `address`."""
    network_s: float | None = None
    """How long the host and the network took, without delays of our own process. None: not known."""
    charged: int = 0
    """Further requests that the page itself made to the host: the next start waits one gap more for each."""

    @property
    def host_s(self) -> float:
        """The time by which the host is judged."""
        return self.latency_s if self.network_s is None else self.network_s

    @property
    def answered(self) -> bool:
        """Whether the host answered at all, even with an invalid response."""
        return self.status is not None or self.failure in ("too_large", "undecodable", "protocol")


@dataclass(slots=True)
class Completion:
    """Ends a lease, after everything that it found is stored."""

    token: int
    outcome: Outcome
    reason: str = ""
    delay_s: float = 0.0
    """With RETRY: how long the request waits."""
    trail: Trail | None = None
    """With RETRY: replaces the request's trail."""
    counted: bool = True
    """With RETRY: whether it counts as a failed attempt."""
    needs_browser: bool = False
    """With RETRY: only workers with a browser get it, unless it is an asset."""
    started: bool = True
    """False: no request was sent to the host, and another request may use the planned start."""
    bytes: int = 0
    cost: int = 0
    """What the attempt cost, in millionths of the currency of the job's proxies."""


@dataclass(frozen=True, slots=True)
class Figures:
    """A job's counts in the frontier; `found` is always the sum of the others."""

    found: int = 0
    queued: int = 0
    leased: int = 0
    pages: int = 0
    redirects: int = 0
    dead: int = 0
    assets: int = 0
    """Parts of pages, such as images, and files of items. They are not among the pages."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    pending_known: bool = field(default=True, compare=False)
    """False: the frontier was unavailable, so `queued` and `leased` are not known."""
    for_browsers: int = field(default=0, compare=False)
    """How many of the queued only workers with a browser get."""

    @property
    def ended(self) -> int:
        return self.pages + self.assets + self.redirects + self.dead + sum(self.dropped.values())
