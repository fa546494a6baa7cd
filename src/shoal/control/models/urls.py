"""More URLs for a job."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, RootModel

from shoal.control.models.given import Query, Told


class UrlArray(RootModel[tuple[str, ...]]):
    """URLs as strings; stored all or not at all."""

    model_config = ConfigDict(strict=False)

    root: Annotated[tuple[str, ...], Field(min_length=1, fail_fast=True)]


class UrlsQuery(Query):
    column: str | None = Field(
        None, min_length=1, description="Of text/csv: the name in its header row, or a number from 1 without header."
    )


class BadLineShown(Told):
    line: int
    url: str
    reason: str


class Appended(Told):
    """What became of them."""

    id: str
    accepted: int = Field(description="Distinct URLs that are new to the job.")
    duplicates: int
    rejected: list[BadLineShown] = Field(description="The first thousand, by their line in the body.")
    rejected_count: int
