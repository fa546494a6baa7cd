"""What an error says."""

from __future__ import annotations

from pydantic import Field

from shoal.control.models.given import Told


class Fault(Told):
    field: str
    reason: str


class ProblemDetails(Told):
    """What went wrong, after RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None
    errors: tuple[Fault, ...] = Field((), description="The first of them.")
    more_errors: int = Field(0, description="How many there are besides.")
