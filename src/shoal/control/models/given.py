"""What every body and query has: unknown fields are refused, and in JSON every value is of its type."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""Of integers: for JSON Schema 5.0 is one too."""
Cursor = Annotated[str, Field(min_length=1, max_length=4_000, pattern="^[A-Za-z0-9_-]+$")]
SomeUrl = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")]
"""More than that it can be fetched is for the crawl to say; without a scheme it is https."""
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
