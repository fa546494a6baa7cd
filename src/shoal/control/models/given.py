"""What every body and query has: unknown fields are refused, and in JSON every value is of its type."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


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
