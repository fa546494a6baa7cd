"""The nouns that travel between rooms: job, request, lease, outcome, and the records of what was found.

A fingerprint is a signed 64-bit integer inside (SQLite, PostgreSQL and Redis intsets all hold it as is) and
16 hex digits wherever a person or a program outside reads it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Lane(StrEnum):
    """Class of service, best first."""

    EXPRESS = "express"
    BATCH = "batch"
    SLOW = "slow"


class ScopeKind(StrEnum):
    HOST = "host"
    DOMAIN = "domain"
    PREFIX = "prefix"
    ANY = "any"
    LISTED = "listed"


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    DONE = "done"
    LIMITED = "limited"
    CANCELLED = "cancelled"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


ENDED = frozenset({JobState.DONE, JobState.LIMITED, JobState.CANCELLED, JobState.FAILED})


class Outcome(StrEnum):
    """How a lease ended."""

    DONE = "done"
    REDIRECT = "redirect"
    RETRY = "retry"
    DROP = "drop"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a job early; None means no limit."""

    pages: int | None = None
    depth: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    pages_per_host: int | None = None


@dataclass(frozen=True, slots=True)
class Politeness:
    """How a job treats a host."""

    rate: float = 2.0
    per_host: int = 2
    group: str = "host"
    robots: bool = True

    @property
    def gap_s(self) -> float:
        return 1 / self.rate if self.rate else 0.0


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What was asked for: everything about a job that is fixed when it starts, besides its inputs."""

    name: str
    scope: ScopeKind = ScopeKind.HOST
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    sitemaps: bool = False
    limits: Limits = field(default_factory=Limits)
    politeness: Politeness = field(default_factory=Politeness)
    lane: Lane = Lane.BATCH
    priority: int = 0
    retries: int = 4
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    credentials: Mapping[str, str] = field(default_factory=dict)
    """origin -> "user:password", taken out of the seeds so that no key, log or export carries them."""
    allow_private: bool = False
    keep_params: tuple[str, ...] = ()
    drop_params: tuple[str, ...] = ()
    refresh: bool = False
    max_failure_rate: float | None = None
    error_on_limit: bool = False
    spider: str | None = None
    """`shop.py:books` or `package.module:books`; loaded anew whenever the job runs."""
    rules: str | None = None
    """Rules as JSON text: data, not code, so they travel with the job."""
    formats: tuple[str, ...] = ()
    """What page records have besides: metadata, main, markdown, tables."""
    max_null_share: float | None = None
    max_change: float | None = None
    output: str | None = None
    """Where the data is written when the job ends, also if it was interrupted in between."""

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> JobSpec:
        raw = json.loads(text)
        tuples = ("include", "exclude", "cookies", "proxies", "keep_params", "drop_params", "formats")
        return cls(
            **{
                **raw,
                **{name: tuple(raw[name]) for name in tuples},
                "scope": ScopeKind(raw["scope"]),
                "lane": Lane(raw["lane"]),
                "limits": Limits(**raw["limits"]),
                "politeness": Politeness(**raw["politeness"]),
            }
        )


class Target(NamedTuple):
    """Where a request goes. Two targets are the same request exactly if their fingerprints are equal."""

    url: str
    fingerprint: int
    host: str
    method: str = "GET"
    body: bytes = b""
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Trail:
    """How a request was come by; the links of one page share it."""

    depth: int = 0
    priority: int = 0
    parent: int | None = None
    callback: str = ""
    meta: Mapping[str, Any] | None = None
    chain: tuple[int, ...] = ()
    """Fingerprints of the redirects that led here, oldest first."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Targets found together, for one job."""

    job: str
    targets: list[Target]
    trail: Trail = Trail()


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Landing:
    """The body is in, or will not come: what the host's clock learns from it."""

    token: int
    latency_s: float
    status: int | None
    """None: no whole answer; `failure` says which kind."""
    failure: str | None = None
    retry_after_s: float | None = None

    @property
    def answered(self) -> bool:
        """Whether the host spoke at all, be it nonsense."""
        return self.status is not None or self.failure in ("too_large", "undecodable", "protocol")


@dataclass(frozen=True, slots=True)
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


@dataclass(slots=True)
class PageRecord:
    """A final answer, as it is stored and exported."""

    job: str
    fingerprint: int
    token: int
    url: str
    host: str
    status: int
    depth: int
    parent: int | None
    content_type: str
    bytes: int
    digest: str
    attempts: int
    duration_ms: int
    fetched_at: float
    via: str = "http"
    archive: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    title: str | None = None
    canonical: str | None = None
    content: PageContent | None = None
    """Kept for jobs without spider or rules, whose data is the page itself."""
    items: list[ItemRecord] = field(default_factory=list)
    rejects: list[RejectRecord] = field(default_factory=list)


@dataclass(slots=True)
class PageContent:
    description: str | None
    language: str | None
    text: str
    links: list[str]
    formats: dict[str, Any] = field(default_factory=dict)
    """What else the job asked for of the page: format -> the page in it, as JSON has it."""


@dataclass(slots=True)
class ItemRecord:
    """A record extracted from a page, its values as JSON has them; `ItemType` says what they were."""

    type: str
    data: dict[str, Any]
    key: str | None = None
    """Items of a job with the same type and key are one: the last one found."""


@dataclass(slots=True)
class RejectRecord:
    """An item that failed validation, kept with what was found and why it was not taken."""

    type: str
    data: dict[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class ItemType:
    name: str
    kinds: Mapping[str, str]
    """field -> `text integer number decimal boolean date datetime url list object`"""


@dataclass(slots=True)
class RedirectRecord:
    job: str
    fingerprint: int
    token: int
    url: str
    host: str
    status: int
    depth: int
    parent: int | None
    target: str
    target_fingerprint: int | None
    """None: the target is no URL that can be fetched, or out of scope; `reason` says why."""
    reason: str | None
    fetched_at: float


@dataclass(slots=True)
class DeadLetter:
    """A request given up on, whole enough to be tried again."""

    job: str
    fingerprint: int
    token: int
    url: str
    host: str
    reason: str
    status: int | None
    detail: str
    depth: int
    parent: int | None
    attempts: int
    died_at: float
    request: str
    """Target and trail as JSON, for the replay."""


@dataclass(slots=True)
class Drop:
    """A request refused after it was offered."""

    job: str
    fingerprint: int
    token: int
    url: str
    host: str
    reason: str
    detail: str
    depth: int
    parent: int | None
    dropped_at: float


@dataclass(slots=True)
class Input:
    """One URL as it was given, in its place in the list."""

    line: int
    spelt: str
    target: Target | None
    reason: str | None = None
    """Why it was not taken."""
    duplicate_of: int | None = None


def fingerprint_hex(fingerprint: int) -> str:
    return f"{fingerprint & 0xFFFF_FFFF_FFFF_FFFF:016x}"
