"""Hosts, workers and tokens, as the API shows and takes them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shoal.control.models.given import Body, Change, Cursor, Query, Told
from shoal.model import JobState, Lane
from shoal.model.bounds import RATE
from shoal.store.tokens import Scope

TokenName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")]


class RobotsShown(Told):
    """What is known of a robots.txt; it is asked for once a day."""

    origin: str
    fetched_at: str | None
    says: Literal["allows", "refuses", "nothing", "unanswered"] = Field(
        description="Of the front page, to the operator's user agent. nothing: there is no such file, or it is empty; "
        "unanswered: it was asked for and has not been had, so nothing else is asked of the host."
    )
    crawl_delay_s: float | None


class HostShown(Told):
    """A host's clock, and what its robots.txt asks."""

    host: str
    rate: float | None = Field(description="The operator's override; null: each job's own.")
    paused: bool
    slowdown: float
    in_flight: int
    next_at: str | None
    block_until: str | None
    block_reason: str | None
    crawl_delay_s: float
    latency_s: float
    fails: int
    queued_jobs: int
    robots: list[RobotsShown] = Field(description="By https and by http, as far as jobs have asked.")


class HostList(Told):
    """Hosts that were asked for something lately, or that an operator has a word on, by name."""

    hosts: list[HostShown]
    next: str | None


class HostsQuery(Query):
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Cursor | None = None


class HostChange(Change):
    """What is left out stays as it is."""

    rate: Annotated[float, Field(ge=RATE.least, le=RATE.most)] | None = Field(
        None, description="null: each job's own again."
    )
    paused: bool = False


class WorkerShown(Told):
    """A process of the fleet, as it last told of itself."""

    id: str
    role: Literal["child", "tend"]
    machine: str
    pid: int
    lanes: list[Lane]
    lane: Lane | None
    in_flight: int
    unstored: int
    ended: int
    memory_bytes: int
    waiting_for: str | None
    unloadable: dict[str, str]
    reading: dict[str, str] = Field(description="By job, the page whose reading takes long there, in words.")


class WorkerList(Told):
    """Who is at work."""

    workers: list[WorkerShown]


class LaneShown(Told):
    workers: int
    jobs: int


class Stats(Told):
    """The fleet at a glance."""

    jobs: dict[JobState, int]
    lanes: dict[Lane, LaneShown]
    workers: int
    in_flight: int
    requests_per_second: float = Field(description="Since it was last asked for, at most ten seconds ago.")
    redis_bytes: int
    redis_fault: str | None = Field(description="That it does not answer, or is full; nobody is seen at work then.")


class TokenShown(Told):
    id: str
    name: str
    scope: Scope
    created_at: str
    used_at: str | None = Field(description="To the minute.")


class TokenList(Told):
    """In the order in which they were made."""

    tokens: list[TokenShown]


class TokenOrder(Body):
    """Whom it is for, and what it may."""

    name: TokenName
    scope: Scope


class TokenChange(Body):
    """What it may from now on."""

    scope: Scope


class TokenMade(Told):
    """The token itself, which cannot be had again."""

    id: str
    name: str
    scope: Scope
    token: str
