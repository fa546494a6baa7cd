"""What the API answers, as far as it has a type of its own here."""

from __future__ import annotations

from typing import Any, TypedDict


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
