"""Cursors: a place in a listing, as text that a caller gives back for what follows."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from math import isfinite
from typing import Any

from shoal.control.problems import FieldFault, Problem
from shoal.store.text import storable

_ROUND = 1 << 63


def cursor(listing: str, place: Sequence[Any]) -> str:
    return urlsafe_b64encode(json.dumps([listing, *place], separators=(",", ":")).encode()).decode().rstrip("=")


def place_of(text: str | None, listing: str, kinds: tuple[type, ...]) -> tuple[Any, ...] | None:
    """Raises a Problem unless it is the cursor of this listing, whose places are made of values of these kinds."""
    if text is None:
        return None
    try:
        name, *place = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, TypeError, RecursionError):
        raise _refused("it is no cursor") from None
    if name != listing:
        raise _refused("it is the cursor of another listing")
    if len(place) != len(kinds) or not all(_is(value, kind) for value, kind in zip(place, kinds, strict=True)):
        raise _refused("it is no cursor")
    return tuple(place)


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, str):
        return kind is str and value == storable(value)
    if isinstance(value, float):
        return kind is float and isfinite(value)
    return type(value) is int and kind is int and -_ROUND <= value < _ROUND


def _refused(reason: str) -> Problem:
    return Problem(422, f"cursor: {reason}: give `next` of the answer before, or none", [FieldFault("cursor", reason)])
