"""The operator's exclusions, as the API shows and takes them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shoal.control.models.given import Body, Query, Told

Line = Annotated[str, Field(max_length=2_000, pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*$")]


class ExclusionsGiven(Body):
    """All of them: those that were given before are gone. A host, the beginning of a URL or a pattern a line."""

    lines: Annotated[tuple[Line, ...], Field(max_length=100_000, fail_fast=True)]


class ExclusionsShown(Told):
    """What no job of the fleet may request, besides what the settings of its machines exclude."""

    version: int = Field(description="One more with every change.")
    lines: list[str]


class ExclusionsQuery(Query):
    version: Annotated[int, Field(ge=0, le=10**9)] | None = Field(
        None, description="Set them only if they are still of this version."
    )
