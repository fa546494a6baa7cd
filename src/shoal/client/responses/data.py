"""Answers about a job's data: pages, items, dead letters, and the explanation of a URL."""

from __future__ import annotations

from typing import Any, NotRequired

from shoal.client.responses.choices import ChangeKind, UrlOutcome
from shoal.client.responses.typed_dict import TypedDict


class Page(TypedDict):
    """The record of a page."""

    url: str
    final_url: str
    status: int
    depth: int
    """Number of links from a start URL."""
    parent: str | None
    """The page on which the URL was found."""
    content_type: str
    bytes: int
    title: str | None
    digest: str
    fingerprint: str
    """16 hex digits. `GET /jobs/{id}/pages/{fingerprint}/body` takes it."""
    attempts: int
    duration_ms: int
    fetched_at: str
    via: str
    archive: str | None
    """Where the archive has the exchange."""
    changed: bool | None
    """With `refresh`: whether the page differs from the last job of the same name."""
    tdm_reservation: str | None
    tdm_policy: str | None
    canonical: str | None
    """The URL that the page names as its own, by `rel=canonical`."""
    noindex: bool | None
    """Whether the page asks not to be indexed; null: it was not read, and no header says so."""
    nofollow: bool | None
    """Whether the page asks that none of its links be followed."""
    change_kind: ChangeKind | None
    """With `refresh`: whether what people read has changed, only something else, or nothing; null: the page is new."""
    is_asset: bool | None
    """Whether it is a part of another page, such as an image, or a file of an item. Such pages count apart."""
    session: str | None
    """The session of the spider that requested it."""


class PageList(TypedDict):
    """Pages, in crawl order."""

    pages: list[Page]
    next: str | None
    """The cursor of the next part; null at the end."""


class ItemList(TypedDict):
    """Items, in crawl order. `_url`, `_page` and `_type` give the page and type of each item."""

    items: list[dict[str, Any]]
    next: str | None
    """The cursor of the next part; null at the end."""


class Letter(TypedDict):
    """A dead letter: a request that the job gave up on, and why."""

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


class FailureTrend(TypedDict):
    """How many failures there were in each of a few periods, at most 48."""

    at: str
    """When the first period began."""
    seconds: int
    """How long each period lasts."""
    counts: list[int]
    """The last is that of the last failure: later periods have none."""


class LetterGroup(TypedDict):
    """A group of dead letters with the same values of the requested fields."""

    reason: NotRequired[str | None]
    status: NotRequired[int | None]
    host: NotRequired[str | None]
    count: int
    first_at: str
    last_at: str
    trend: FailureTrend
    samples: list[str]


class LetterList(TypedDict):
    """Dead letters, in the order in which the job gave them up, or groups of them if requested."""

    dead: NotRequired[list[Letter]]
    groups: NotRequired[list[LetterGroup]]
    next: NotRequired[str | None]
    """The cursor of the next part; null at the end."""


class Retried(TypedDict):
    """How many dead letters are queued again."""

    retried: int


class Redelivered(TypedDict):
    """How many refused items the sinks try again."""

    redelivered: int


class Purged(TypedDict):
    """How many dead letters were deleted."""

    purged: int


class Explained(TypedDict):
    """What happened to a URL, or would happen; further fields depend on the outcome."""

    job: str
    url: str
    canonical: str | None
    fingerprint: str | None
    outcome: UrlOutcome
    reason: str | None
    rule: str | None
