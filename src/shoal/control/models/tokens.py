"""Models for tokens: request bodies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shoal.control.models.strict_models import RequestBody
from shoal.store.fleet.tokens import TokenScope

TokenName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")]


class TokenOrder(RequestBody):
    """The name and scope of a new token."""

    name: TokenName
    scope: TokenScope


class TokenChange(RequestBody):
    """The new scope of a token."""

    scope: TokenScope
