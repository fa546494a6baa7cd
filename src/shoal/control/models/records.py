"""What a job found, as its listings show it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from shoal.control.models.given import WHOLE, Body, Cursor, Query, SomeUrl, Told

Status = Annotated[int, Field(ge=100, le=999), WHOLE]
Fingerprint = Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
Next = Annotated[str | None, Field(description="The cursor of what follows; null at the end.")]


class PageShown(Told):
    url: str
    final_url: str
    status: int
    depth: int
    parent: str | None
    content_type: str
    bytes: int
    title: str | None
    digest: str
    fingerprint: Fingerprint
    attempts: int
    duration_ms: int
    fetched_at: str
    via: str
    archive: str | None
    changed: bool | None
    tdm_reservation: str | None
    tdm_policy: str | None


class PageList(Told):
    """In the order of the crawl."""

    pages: list[PageShown]
    next: Next


class ItemList(Told):
    """In the order of the crawl; `_url`, `_page` and `_type` say where each was found and what it is."""

    items: list[dict[str, Any]]
    next: Next


class LetterShown(Told):
    url: str
    host: str
    reason: str
    status: int | None
    detail: str
    depth: int
    parent: str | None
    attempts: int
    died_at: str
    fingerprint: Fingerprint


class LetterGroup(Told):
    """Dead letters that are alike in what was asked for."""

    reason: str | None = None
    status: int | None = None
    host: str | None = None
    count: int
    samples: list[str]


class LetterList(Told):
    """In the order in which they were given up; grouped, if that was asked for."""

    dead: tuple[LetterShown, ...] = ()
    groups: tuple[LetterGroup, ...] = ()
    next: Next = None


class Part(Query):
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Cursor | None = None


class PagesQuery(Part):
    status: Status | None = None
    host: str | None = None


class ItemsQuery(Part):
    type: str | None = None


class DeadFilter(Query):
    reason: str | None = None
    status: Status | None = None
    host: str | None = None


class DeadQuery(Part, DeadFilter):
    group: str | None = Field(
        None, pattern="^(reason|status|host)(,(reason|status|host)){0,2}$", description="Count by these instead."
    )


class RetryOrder(Body):
    """Which dead letters; without a filter, all."""

    reason: str | None = None
    status: Status | None = None
    host: str | None = None


class Retried(Told):
    """How many are queued again."""

    retried: int


class Purged(Told):
    """How many are gone."""

    purged: int


class ExplainQuery(Query):
    url: SomeUrl


class Explained(Told):
    """What happened to a URL, or what would; there is more, depending on the outcome."""

    model_config = ConfigDict(extra="allow")

    job: str
    url: str
    canonical: str | None
    fingerprint: Fingerprint | None
    outcome: Literal[
        "page", "redirect", "dead", "dropped", "queued", "waiting", "leased", "rejected", "skipped", "unknown"
    ]
    reason: str | None
    rule: str | None


class ExportQuery(Query):
    format: Literal["jsonl", "csv", "parquet"] = "jsonl"
    what: Literal["items", "rejects", "pages", "inputs"] | None = Field(
        None, description="Default: what the job was run for."
    )
    type: str | None = Field(None, description="Of items and rejects: only those of this type.")


class DiffQuery(Query):
    other: str = Field(min_length=1, description="The later job.")
