"""Results as they are stored and exported: pages, items, redirects, dead letters, drops."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shoal.model.field_type import FieldType

HANDLED = "handled"
"""The reason of a dropped request without an answer whose failure an errors callback took."""
Packed = bytes
"""A page's content as the store keeps it."""


@dataclass(slots=True)
class PageRecord:
    """A final response, as it is stored and exported."""

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
    is_asset: bool = False
    """Whether it was requested as a part of another page, or as a file of an item. Such pages count apart."""
    session: str | None = None
    """The session of the spider that requested it."""
    archive: str | None = None
    changed: bool | None = None
    """Compared with the newest earlier page, in a job that refreshes; None: there is none."""
    change_kind: str | None = None
    """`content`, `markup` or `no`: see `model/content_change.py`. None where `changed` is."""
    etag: str | None = None
    last_modified: str | None = None
    tdm_reservation: str | None = None
    """The host's reservation against text and data mining, as in its headers."""
    tdm_policy: str | None = None
    title: str | None = None
    canonical: str | None = None
    """The URL that the page names as its own: absolute, and normalized like every URL."""
    noindex: bool | None = None
    """Whether the page asks not to be indexed; likewise `nofollow`, its links. None: it was not read as HTML, and no
    header asks for it."""
    nofollow: bool | None = None
    merge_key: int | None = None
    """The fingerprint of its canonical URL, in a job that merges pages by it. Not stored."""
    merged_into: int | None = None
    """The page that represents it; the store decides that."""
    content: FoundContent | PageContent | Packed | None = None
    """Stored for jobs without spider or rules, whose data is the page itself. Compressed for the store."""
    items: list[ItemRecord] = field(default_factory=list)
    rejects: list[RejectRecord] = field(default_factory=list)
    files: dict[int, list[str]] = field(default_factory=dict)
    """The requests of files that the items refer to -> their URLs in the items."""
    file_faults: dict[str, str] = field(default_factory=dict)
    """URLs of files in the items that are not requested -> the reason."""


@dataclass(slots=True)
class PageContent:
    """What people read of a page, from the store."""

    description: str | None
    language: str | None
    text: str
    hrefs: list[str]
    """Its links once each: as written but for fragments, relative to its URL, or already resolved."""
    formats: dict[str, Any] = field(default_factory=dict)
    """Format -> the page in that format, as JSON values."""


@dataclass(slots=True)
class FoundContent:
    """The content of a page that was just read, to be packed. Its text need not become a string for that."""

    description: str | None
    language: str | None
    text: bytes
    """In UTF-8, with white space as its parser gives it."""
    hrefs: list[str]
    formats: dict[str, Any]


@dataclass(slots=True)
class ItemRecord:
    """An item extracted from a page, with JSON values. `ItemType` has their original types."""

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
    """An item that failed validation, with its data and the reason."""

    type: str
    data: dict[str, Any]
    reason: str


class ItemType(NamedTuple):
    name: str
    fields: Mapping[str, FieldType]


@dataclass(slots=True)
class RedirectRecord:
    """A request that was answered with a redirect."""

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
    """None: the target cannot be fetched or is out of scope; `reason` says why."""
    reason: str | None
    fetched_at: float


@dataclass(slots=True)
class DeadLetter:
    """A request that was given up, with everything needed to retry it."""

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
    """Target and trail as JSON, for the retry."""


@dataclass(slots=True)
class Drop:
    """A request that was refused after it was offered."""

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
    items: list[ItemRecord] = field(default_factory=list)
    """What an errors callback gave for a request without an answer; likewise the rejects."""
    rejects: list[RejectRecord] = field(default_factory=list)
