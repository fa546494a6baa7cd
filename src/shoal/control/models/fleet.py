"""Models for hosts and tokens: queries and request bodies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shoal.control.models.strict_models import Cursor, PatchBody, QueryModel, RequestBody
from shoal.model.options import RATE
from shoal.store.fleet.tokens import TokenScope

TokenName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")]


class HostsQuery(QueryModel):
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Cursor | None = None


class HostChange(PatchBody):
    """Fields that are left out do not change."""

    rate: Annotated[float, Field(ge=RATE.least, le=RATE.most)] | None = Field(
        None, description="null: use each job's own rate again."
    )
    paused: bool = False


class TokenOrder(RequestBody):
    """The name and scope of a new token."""

    name: TokenName
    scope: TokenScope


class TokenChange(RequestBody):
    """The new scope of a token."""

    scope: TokenScope
