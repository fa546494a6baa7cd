"""Models for the operator's exclusions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shoal.control.models.strict_models import QueryModel, RequestBody

Line = Annotated[str, Field(max_length=2_000, pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*$")]


class ExclusionsGiven(RequestBody):
    """The complete new list, which replaces the old one. Each line is a host, the start of a URL, or a pattern."""

    lines: Annotated[tuple[Line, ...], Field(max_length=100_000, fail_fast=True)]


class ExclusionsQuery(QueryModel):
    version: Annotated[int, Field(ge=0, le=10**9)] | None = Field(
        None, description="Replace them only if they are still at this version."
    )
