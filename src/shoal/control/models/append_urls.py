"""Models for appending URLs to a job."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, RootModel

from shoal.control.models.strict_models import QueryModel


class UrlArray(RootModel[tuple[str, ...]]):
    """URLs as strings; stored completely or not at all."""

    model_config = ConfigDict(strict=False)

    root: Annotated[tuple[str, ...], Field(min_length=1, fail_fast=True)]


class UrlsQuery(QueryModel):
    column: str | None = Field(
        None, min_length=1, description="For text/csv: the name in its header row, or a number from 1 without a header."
    )
