"""A request on its way: where it goes, how it was come by, who holds it, and how that ends.

What is made anew for every request is not frozen, though nobody changes it: a frozen one takes three times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Target(NamedTuple):
    """Where a request goes. Two targets are the same request exactly if their fingerprints are equal."""

    url: str
    fingerprint: int
    host: str
    method: str = "GET"
    body: bytes = b""
    content_type: str = ""

    @property
    def is_plain(self) -> bool:
        """A GET without a body: the URL says it all."""
        return self.method == "GET" and not self.body


LAST = -1
"""A priority that is served after everything else of its host."""


class Trail(NamedTuple):
    """How a request was come by; the links of one page share it."""

    depth: int = 0
    priority: int = 0
    parent: int | None = None
    callback: str = ""
    meta: Mapping[str, Any] | None = None
    chain: tuple[int, ...] = ()
    """Fingerprints of the redirects that led here, oldest first."""


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
    """A request held until a deadline. Whoever completes it must still own the token."""

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
    """What the host's clock puts between two starts; a holder that starts late must keep it all the same."""
    unreachable: bool
    """The host has never answered this job although it was tried for long enough: do not fetch."""
    edition: int
    """Of the job, when this was leased: a holder that knows only an older one loads the job anew."""
    malformed: bool = False
    """What was queued could not be read, and the target only stands for it: do not fetch."""


@dataclass(slots=True)
class Landing:
    """The body is in, or will not come: what the host's clock learns from it."""

    token: int
    latency_s: float
    status: int | None
    """None: no whole answer; `failure` says which kind."""
    failure: str | None = None
    retry_after_s: float | None = None
    late_s: float = 0.0
    """How much later than planned the request began; the host's next start keeps its gap from then."""
    address: str = ""
    """The address that answered, if it is known: hosts of one domain at one address share a rate."""
    domain: str = ""
    """The registrable domain of the host, with `address`."""

    @property
    def answered(self) -> bool:
        """Whether the host spoke at all, be it nonsense."""
        return self.status is not None or self.failure in ("too_large", "undecodable", "protocol")


@dataclass(slots=True)
class Completion:
    """The end of a lease, after everything it found is stored."""

    token: int
    outcome: Outcome
    reason: str = ""
    delay_s: float = 0.0
    """With RETRY: how long the request waits."""
    trail: Trail | None = None
    """With RETRY: replaces the request's trail."""
    counted: bool = True
    """With RETRY: whether this was an attempt that failed."""
    started: bool = True
    """False: the host was never asked, and the start that was planned is left to another."""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """A job's counts in the frontier; `found` is always the sum of the others."""

    found: int = 0
    queued: int = 0
    leased: int = 0
    pages: int = 0
    redirects: int = 0
    dead: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    pending_known: bool = field(default=True, compare=False)
    """False: the frontier was not there to be asked what is queued and leased."""
