"""Models for hosts: the query of their list, and the body of a change."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shoal.control.models.strict_models import Cursor, PatchBody, QueryModel
from shoal.model.options import RATE


class HostsQuery(QueryModel):
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Cursor | None = None


class HostChange(PatchBody):
    """Fields that are left out do not change."""

    rate: Annotated[float, Field(ge=RATE.least, le=RATE.most)] | None = Field(
        None, description="null: use each job's own rate again."
    )
    paused: bool = False
