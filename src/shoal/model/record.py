"""What was found, as it is stored and exported: pages, items, redirects, dead letters, drops."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Packed = bytes
"""A page's content as the store keeps it."""


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
    changed: bool | None = None
    """Against the newest earlier page of a job that refreshes; None: there is none."""
    etag: str | None = None
    last_modified: str | None = None
    tdm_reservation: str | None = None
    """What the host reserves against text and data mining, as its headers say it."""
    tdm_policy: str | None = None
    title: str | None = None
    canonical: str | None = None
    content: PageContent | Packed | None = None
    """Kept for jobs without spider or rules, whose data is the page itself; packed on its way to the store."""
    items: list[ItemRecord] = field(default_factory=list)
    rejects: list[RejectRecord] = field(default_factory=list)


@dataclass(slots=True)
class PageContent:
    description: str | None
    language: str | None
    text: str
    hrefs: list[str]
    """Its links as they are written, to be read against its URL; or what they lead to."""
    formats: dict[str, Any] = field(default_factory=dict)
    """What else the job asked for of the page: format -> the page in it, as JSON has it."""


@dataclass(slots=True)
class ItemRecord:
    """A record extracted from a page, its values as JSON has them; `ItemType` says what they were."""

    type: str
    text: str
    """A JSON object."""
    key: str | None = None
    """Items of a job with the same type and key are one: the last one found."""

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found


@dataclass(slots=True)
class RejectRecord:
    """An item that failed validation, kept with what was found and why it was not taken."""

    type: str
    data: dict[str, Any]
    reason: str


class ItemType(NamedTuple):
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
