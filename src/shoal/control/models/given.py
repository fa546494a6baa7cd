"""What every body and query has: unknown fields are refused, and in JSON every value is of its type."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(max_length=2_000)]
Texts = Annotated[tuple[Text, ...], Field(max_length=10_000, fail_fast=True)]
"""Of a list that cannot be used the first fault is told: there may be as many as it has entries."""


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema.get("properties", {}).values():
        field.pop("default", None)


class Change(Body):
    """What is left out stays as it is, so that no default is told of."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)


class Query(BaseModel):
    """Its values come as text."""

    model_config = ConfigDict(extra="forbid")


class Told(BaseModel):
    """What is answered."""

    model_config = ConfigDict(extra="forbid")
