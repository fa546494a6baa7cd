"""What the API answers, as far as it has a type of its own here."""

from __future__ import annotations

from typing import Any, TypedDict, final


class Rejected(TypedDict, total=False):
    """A URL that was not taken; `line` is its place among those appended."""

    line: int
    url: str
    reason: str


class Submitted(TypedDict):
    id: str
    name: str
    state: str
    accepted: int
    duplicates: int
    rejected: list[Rejected]
    rejected_count: int


class Appended(TypedDict):
    id: str
    accepted: int
    duplicates: int
    rejected: list[Rejected]
    rejected_count: int


class Job(TypedDict):
    """A job's figures; `limiting` says in words what it waits for."""

    id: str
    name: str
    state: str
    lane: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    found: int
    queued: int
    leased: int
    pages: int
    redirects: int
    dead: int
    dropped: dict[str, int]
    skipped: dict[str, int]
    items: int
    bytes: int
    by_status: dict[str, int]
    hosts: int
    archive_bytes: int
    unarchived: int
    limiting: str | None
    traps: list[dict[str, Any]]
    overrides: list[str]
    user_agent: str
    version: int
    webhook: dict[str, Any] | None
    owner: str | None


class Host(TypedDict):
    """A host's clock."""

    host: str
    rate: float | None
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
    robots: list[dict[str, Any]]
    """What the robots.txt of its origins asks, as far as it was asked for."""


class Schedule(TypedDict):
    """When it runs, what it begins, and how the last runs went, newest first."""

    id: str
    name: str
    cron: str
    zone: str
    overlap: str
    paused: bool
    created_at: str
    next_runs: list[str]
    job: dict[str, Any]
    runs: list[dict[str, Any]]


class Token(TypedDict):
    id: str
    name: str
    scope: str
    created_at: str
    used_at: str | None


class Page(TypedDict):
    """The record of a page; `fingerprint` is what `body` takes."""

    url: str
    final_url: str
    status: int
    depth: int
    parent: str | None
    content_type: str
    bytes: int
    title: str | None
    digest: str
    fingerprint: str
    attempts: int
    duration_ms: int
    fetched_at: str
    via: str
    archive: str | None
    changed: bool | None
    tdm_reservation: str | None
    tdm_policy: str | None


class Letter(TypedDict):
    """A dead letter: what was given up, and why."""

    url: str
    host: str
    reason: str
    status: int | None
    detail: str
    depth: int
    parent: str | None
    attempts: int
    died_at: str
    fingerprint: str


class Explained(TypedDict):
    """What happened to a URL, or what would; there is more, depending on the outcome."""

    job: str
    url: str
    canonical: str | None
    fingerprint: str | None
    outcome: str
    reason: str | None
    rule: str | None


@final
class Scraped(TypedDict):
    """How the page ended, and what was asked of it; `missing` says why something is not there."""

    id: str
    url: str
    final_url: str | None
    status: int | None
    outcome: str
    reason: str | None
    content_type: str | None
    title: str | None
    html: str | None
    text: str | None
    markdown: str | None
    links: list[str] | None
    metadata: dict[str, Any] | None
    items: list[dict[str, Any]] | None
    missing: dict[str, str]


@final
class StillScraping(TypedDict):
    """It takes longer: `id` is the job's, and there is no `outcome` yet."""

    id: str
    state: str
    limiting: str | None


class Worker(TypedDict):
    """A process of the fleet, as it last told of itself."""

    id: str
    role: str
    machine: str
    pid: int
    lanes: list[str]
    lane: str | None
    in_flight: int
    unstored: int
    ended: int
    memory_bytes: int
    waiting_for: str | None
    unloadable: dict[str, str]
    reading: dict[str, str]


class Stats(TypedDict):
    """The fleet at a glance."""

    jobs: dict[str, int]
    lanes: dict[str, dict[str, int]]
    workers: int
    in_flight: int
    requests_per_second: float
    redis_bytes: int
    redis_fault: str | None


class Exclusions(TypedDict):
    """`version` is one more with every change."""

    version: int
    lines: list[str]
