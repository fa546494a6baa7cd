"""Pagination cursors: a place in a listing as opaque text, which a client sends back to get the next page."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from math import isfinite
from typing import Any

from shoal.control.problems import FieldFault, Problem
from shoal.store.database.storable_text import storable

_ROUND = 1 << 63


def cursor(listing: str, place: Sequence[Any]) -> str:
    return urlsafe_b64encode(json.dumps([listing, *place], separators=(",", ":")).encode()).decode().rstrip("=")


def place_of(text: str | None, listing: str, kinds: tuple[type, ...]) -> tuple[Any, ...] | None:
    """Raises a Problem unless it is a cursor of this listing, with values of these types."""
    if text is None:
        return None
    try:
        name, *place = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, TypeError, RecursionError):
        raise _refused("it is not a valid cursor") from None
    if name != listing:
        raise _refused("it belongs to another listing")
    if len(place) != len(kinds) or not all(_is(value, kind) for value, kind in zip(place, kinds, strict=True)):
        raise _refused("it is not a valid cursor")
    return tuple(place)


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, str):
        return kind is str and value == storable(value)
    if isinstance(value, float):
        return kind is float and isfinite(value)
    return type(value) is int and kind is int and -_ROUND <= value < _ROUND


def _refused(reason: str) -> Problem:
    detail = f"cursor: {reason}: use `next` of the previous response, or none"
    return Problem(422, detail, [FieldFault("cursor", reason)])
