"""Answers about the fleet: hosts, exclusions, workers, schedules, tokens, health, and errors."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from shoal.client.responses.choices import JobState, Lane, Overlap, RunState, TokenScope
from shoal.client.responses.typed_dict import TypedDict


class RobotsReport(TypedDict):
    """What is known about a robots.txt. It is fetched once a day."""

    origin: str
    fetched_at: str | None
    says: Literal["allows", "refuses", "nothing", "unanswered"]
    """What it says about the front page to the operator's user agent. nothing: the file is missing or empty;
    unanswered: it could not be fetched, so nothing else is requested from the host."""
    crawl_delay_s: float | None


class Host(TypedDict):
    """A host's state, and its robots.txt."""

    host: str
    rate: float | None
    """The operator's override; null: each job's own rate."""
    paused: bool
    slowdown: float
    """Factor by which the host's delay is longer than usual, after slow answers and errors."""
    in_flight: int
    next_at: str | None
    """When the next request may start."""
    block_until: str | None
    block_reason: str | None
    crawl_delay_s: float
    latency_s: float
    fails: int
    """Failures since the last answer."""
    queued_jobs: int
    robots: list[RobotsReport]
    """For https and http, as far as jobs have fetched them."""


class HostList(TypedDict):
    """Hosts that were used lately, or that have an operator's override, by name."""

    hosts: list[Host]
    next: str | None
    """The cursor of the next part; null at the end."""


class Exclusions(TypedDict):
    """What no job of the fleet may request, in addition to the exclusions in the settings of its machines."""

    version: int
    """Increases by one with every change."""
    lines: list[str]


class Worker(TypedDict):
    """The last report of a process of the fleet."""

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
    browser_pages: int
    """How many pages its browser may load at a time; 0: it has none."""
    browser_open: int
    """How many pages it has open."""
    browser_fault: str | None
    """Why its browser does not start."""
    stopping: bool
    """It finishes its requests and ends."""
    waiting_for: str | None
    unloadable: dict[str, str]
    """By job, why this process cannot load it."""
    reading: dict[str, str]
    """By job, the page that takes long to parse there."""
    archive_note: str | None
    """Why segments wait in its spool."""
    spooled_bytes: int
    """How much waits on its machine for the archive."""
    version: str
    slots: int
    """How many requests it may have in flight."""
    per_s: float | None
    """How many requests ended there per second, in the last ten seconds. null: it does not crawl, or is older."""
    written_at: float
    """When the process wrote this, in seconds since 1970."""


class WorkerList(TypedDict):
    """The processes of the fleet."""

    workers: list[Worker]


class LaneStats(TypedDict):
    """How many workers serve a lane, and how many jobs it has."""

    workers: int
    jobs: int


class Stats(TypedDict):
    """A summary of the fleet."""

    jobs: dict[JobState, int]
    lanes: dict[Lane, LaneStats]
    workers: int
    in_flight: int
    requests_per_second: float
    """Since the last call, over at most ten seconds."""
    redis_bytes: int
    redis_fault: str | None
    """Why Redis cannot be used: it does not answer, or is full. Then no worker is shown."""


class ScheduleRun(TypedDict):
    """One run of a schedule."""

    at: str
    state: RunState
    job: str | None
    """The job of a run that has started or will start."""
    missed: int
    """Earlier ticks, missed while no tend ran, that this run replaces."""
    reason: str | None


class ScheduledJob(TypedDict):
    """The schedule's job, without secrets."""

    urls: int
    """How many URLs it starts from."""
    rules: bool
    spider: str | None
    project: str | None
    """The Scrapy project of the spider, by its name over the API."""
    version: str | None
    """The version of the project that the schedule names; null: the latest when a job is due."""
    options: dict[str, Any]


class Schedule(TypedDict):
    """A schedule with its next runs and its last runs, newest first."""

    id: str
    name: str
    cron: str
    zone: str
    overlap: Overlap
    paused: bool
    created_at: str
    next_runs: list[str]
    """Empty while it is paused."""
    job: ScheduledJob
    cannot_run: str | None
    """Why a job could not start now: its Scrapy project, the version or the spider is gone."""
    runs: list[ScheduleRun]


class ScheduleList(TypedDict):
    """Schedules, sorted by name."""

    schedules: list[Schedule]


class Token(TypedDict):
    """A token, without its secret."""

    id: str
    name: str
    scope: TokenScope
    created_at: str
    used_at: str | None
    """To the minute."""


class TokenList(TypedDict):
    """Tokens, in the order in which they were created."""

    tokens: list[Token]


class NewToken(TypedDict):
    """The new token with its secret, which is not shown again."""

    id: str
    name: str
    scope: TokenScope
    token: str


class Alive(TypedDict):
    """This process answers."""

    status: Literal["ok"]


class Ready(TypedDict):
    """The state of the servers that this process needs."""

    status: Literal["ok", "unavailable"]
    redis: Literal["ok", "unavailable"]
    database: Literal["ok", "unavailable"]
    archive: Literal["ok", "unavailable"]
    """If only this is unavailable, the process is ready: it answers all but bodies."""
    reason: str | None


class FieldFault(TypedDict):
    """A field that is invalid."""

    field: str
    """Its path, such as `limits.pages` or `urls[3]`."""
    reason: str


class ProblemDetails(TypedDict):
    """An error, as in RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    """What is wrong, and what to do."""
    request_id: str | None
    """The logs have it too."""
    errors: NotRequired[list[FieldFault]]
    """The first invalid fields."""
    more_errors: NotRequired[int]
    """The number of further invalid fields."""
