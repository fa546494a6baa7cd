"""A place in a listing, as text in a link to the next part."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

from shoal.errors import UsageError


def cursor_of(position: Sequence[Any]) -> str:
    return urlsafe_b64encode(json.dumps(list(position)).encode()).decode().rstrip("=")


def position_of(text: str | None, kinds: tuple[type, ...]) -> tuple[Any, ...] | None:
    """Raises UsageError unless it has values of these types."""
    if not text:
        return None
    try:
        values = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        is_right = [type(value) for value in values] == list(kinds)
    except (ValueError, TypeError, RecursionError):
        is_right = False
    if not is_right:
        raise UsageError("the link to this part of the list is broken: begin at its first part")
    return tuple(values)
