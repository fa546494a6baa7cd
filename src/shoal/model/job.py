"""What was asked for: a job, its limits and politeness, and the inputs it starts from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shoal import __version__
from shoal.model.bounds import MAX_GAP_S
from shoal.model.request import Target

AGENT = f"shoal/{__version__}"


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


class Asker(StrEnum):
    """Who asked for a job, by what they may."""

    OPERATOR = "operator"
    """Directly, as one who holds the home, or the servers of the fleet."""
    ADMIN = "admin"
    """Over the API, with a token of that scope."""
    SUBMITTER = "submitter"
    """Over the API, with any other."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a job early; None means no limit."""

    pages: int | None = None
    depth: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    pages_per_host: int | None = None

    def allow_more_than(self, other: Limits) -> bool:
        """Whether one of them ends a job later than the other's does, or never."""
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return any(theirs is not None and (ours is None or ours > theirs) for ours, theirs in pairs)


def reached(limit: str) -> str:
    """The reason of a job that a limit ended, by its name in Limits; others may add words behind it."""
    return f"its limit of {limit} is reached"


def reached_limit(reason: str | None) -> str | None:
    """The name of the limit that ended a job, if `reached` told why it ended."""
    names = (limit.name for limit in dataclasses.fields(Limits))
    return next((name for name in names if (reason or "").startswith(reached(name))), None)


@dataclass(frozen=True, slots=True)
class Politeness:
    """How a job treats a host."""

    rate: float = 2.0
    per_host: int = 2
    group: str = "host"
    robots: bool = True

    @property
    def gap_s(self) -> float:
        # A job that was stored before rates had bounds may have any.
        return min(1 / self.rate, MAX_GAP_S) if self.rate else 0.0


@dataclass(frozen=True, slots=True)
class Webhook:
    """Who is told when the state of a job changes."""

    url: str
    secret: str | None = None
    """What is sent is signed with it."""


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
    agent: str = AGENT
    """The operator's name for the crawler, as it was when the job was made."""
    asked_by: Asker = Asker.OPERATOR
    allow_private: bool = False
    """Never of a submitter's; see `reaches_private`."""
    keep_params: tuple[str, ...] = ()
    drop_params: tuple[str, ...] = ()
    allow_traps: tuple[str, ...] = ()
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
    text: bool = True
    """Whether what a page says, its text and links, is kept beside its record."""
    text_beside_items: bool = False
    """Whether that, and the formats, are kept too of pages that a spider or rules take items from."""
    archive: bool = True
    max_archive_bytes: int | None = None
    """Beyond it nothing more is archived; the job goes on."""
    webhook: Webhook | None = None
    output: str | None = None
    """Where the data is written when the job ends, also if it was interrupted in between."""

    @property
    def user_agent(self) -> str:
        """How the job names itself to hosts: by a header of its own, if it has one."""
        return next((value for name, value in self.headers.items() if name.lower() == "user-agent"), self.agent)

    def with_limits(self, limits: Mapping[str, Any]) -> JobSpec:
        """With these in place of its own, by their names; others stay."""
        return dataclasses.replace(self, limits=dataclasses.replace(self.limits, **limits))

    def reaches_private(self, worker_allows: bool) -> bool:
        """Over the API nobody decides alone what a worker reaches: its own setting has to allow it too."""
        return self.allow_private and (worker_allows or self.asked_by is Asker.OPERATOR)

    def reaches_private_proxy(self, worker_allows: bool) -> bool:
        """Likewise of a proxy, which is a host that gets requests too; an operator's own may be private."""
        return worker_allows or self.asked_by is Asker.OPERATOR

    @property
    def private_way_out(self) -> str:
        """What would let the job reach private addresses."""
        if self.asked_by is Asker.OPERATOR:
            return "--allow-private"
        worker = "SHOAL_ALLOW_PRIVATE=on at the workers"
        return worker if self.allow_private else f"allow_private of an admin together with {worker}"

    @property
    def overrides(self) -> list[str]:
        """What was set aside for this job of how hosts are usually treated, so that its record shows it."""
        # A contact only adds to the usual name.
        usual = self.user_agent == AGENT or self.user_agent.startswith(f"{AGENT} ")
        set_aside = {
            "ignore_robots": not self.politeness.robots,
            "allow_private": self.allow_private,
            "rate_0": not self.politeness.rate,
            "user_agent": not usual,
        }
        return [name for name, given in set_aside.items() if given]

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> JobSpec:
        raw = json.loads(text)
        tuples = ("include", "exclude", "cookies", "proxies", "keep_params", "drop_params", "allow_traps", "formats")
        return cls(
            **{
                **raw,
                **{name: tuple(raw[name]) for name in tuples},
                "asked_by": Asker(raw["asked_by"]),
                "scope": ScopeKind(raw["scope"]),
                "lane": Lane(raw["lane"]),
                "limits": Limits(**raw["limits"]),
                "politeness": Politeness(**raw["politeness"]),
                "webhook": Webhook(**raw["webhook"]) if raw["webhook"] else None,
            }
        )


@dataclass(slots=True)
class Input:
    """One URL as it was given, in its place in the list."""

    line: int
    spelt: str
    target: Target | None
    reason: str | None = None
    """Why it was not taken."""
    duplicate_of: int | None = None
