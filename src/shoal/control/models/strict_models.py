"""Base classes of all models: unknown fields are refused, and JSON values must have the right type."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""For integers: JSON Schema counts 5.0 as one."""
Cursor = Annotated[str, Field(min_length=1, max_length=4_000, pattern="^[A-Za-z0-9_-]+$")]
SomeUrl = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")]
"""Whether it can be fetched is decided by the crawl; without a scheme it is https."""
Text = Annotated[str, Field(max_length=2_000)]
Texts = Annotated[tuple[Text, ...], Field(max_length=10_000, fail_fast=True)]
"""Only the first fault of a list is reported: there may be as many as it has entries."""


class RequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema.get("properties", {}).values():
        field.pop("default", None)


class PatchBody(RequestBody):
    """Fields that are left out do not change, so the schema shows no defaults."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)


class QueryModel(BaseModel):
    """Query parameters, whose values are text."""

    model_config = ConfigDict(extra="forbid")


class ResponseBody(BaseModel):
    """A response that the CLI reads back into the objects of the code."""

    model_config = ConfigDict(extra="forbid")
