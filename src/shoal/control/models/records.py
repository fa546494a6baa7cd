"""Models for the listings of a job's pages, items and dead letters: queries and request bodies."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shoal.control.models.strict_models import WHOLE, Cursor, QueryModel, RequestBody, SomeUrl

Status = Annotated[int, Field(ge=100, le=999), WHOLE]


class Part(QueryModel):
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Cursor | None = None


class PagesQuery(Part):
    status: Status | None = None
    host: str | None = None
    merged: bool | None = Field(
        None, description="true: those that count as one with another page, because of `canonical`: merge."
    )


class ItemsQuery(Part):
    type: str | None = None


class DeadFilter(QueryModel):
    reason: str | None = None
    status: Status | None = None
    host: str | None = None


class DeadQuery(Part, DeadFilter):
    group: str | None = Field(
        None,
        pattern="^(reason|status|host)(,(reason|status|host)){0,2}$",
        description="Count by these fields instead of listing.",
    )


class RetryOrder(RequestBody):
    """A filter for dead letters; without one, all are retried."""

    reason: str | None = None
    status: Status | None = None
    host: str | None = None


class ExplainQuery(QueryModel):
    url: SomeUrl


class ExportQuery(QueryModel):
    format: Literal["jsonl", "csv", "parquet", "json"] = "jsonl"
    what: Literal["items", "rejects", "refused", "pages", "inputs"] | None = Field(
        None, description="Default: items for a job with a spider or rules, else pages."
    )
    type: str | None = Field(None, description="For items, rejects and refused items: only those of this type.")
    fields: str | None = Field(None, description="The columns in order, as in title,price. Default: all.")
    provenance: bool = Field(False, description="Add _url, _fetched_at, _job and _spider_version to each item.")


class DiffQuery(QueryModel):
    other: str = Field(min_length=1, description="The later job: its id, the beginning of it, its name, or `last`.")
