"""Parses values of items, which JSON stores as text or number, into decimals, dates and times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

T = TypeVar("T")


def decimal_of(value: Any) -> Decimal | None:
    """None unless the value is a finite number."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def date_of(value: Any) -> date | None:
    return _parsed(date.fromisoformat, value)


def datetime_of(value: Any) -> datetime | None:
    """Assumes UTC for a time without a zone."""
    found = _parsed(datetime.fromisoformat, value)
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def _parsed(parse: Callable[[str], T], value: Any) -> T | None:
    try:
        return parse(str(value))
    except ValueError:
        return None
