"""Statistics of a field's values, updated chunk by chunk without keeping the values.

Distinct values are counted by their hash, up to a limit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from shoal.store.results.item_values import date_of, datetime_of, decimal_of

MOST_DISTINCT = 10_000

_NULLS: tuple[Any, ...] = (None, "", [], {})


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list) else len(str(value))


_SIZES: dict[str, Callable[[Any], Any]] = {
    "text": _length,
    "url": _length,
    "list": _length,
    "integer": decimal_of,
    "number": decimal_of,
    "decimal": decimal_of,
    "date": date_of,
    "datetime": datetime_of,
}
"""How to compare values for the least and the most; kinds without an order are missing."""
_QUICK: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "text": (str, len),
    "url": (str, len),
    "integer": (int, int),
    "decimal": (str, Decimal),
    "date": (str, date.fromisoformat),
}
"""A faster way for the common case: all values of the field have this type."""


class FieldStats:
    def __init__(self, kind: str) -> None:
        self._size = _SIZES.get(kind)
        self._quick = _QUICK.get(kind)
        self._least: Any = None
        self._most: Any = None
        self._hashes: set[Any] = set()
        self.nulls = 0

    @property
    def distinct(self) -> int:
        """MOST_DISTINCT + 1 if there are more."""
        return min(len(self._hashes), MOST_DISTINCT + 1)

    @property
    def range(self) -> tuple[str | None, str | None]:
        return _shown(self._least), _shown(self._most)

    def add(self, values: list[Any]) -> None:
        # A true value is never null, so most values need no comparison.
        found = values if all(values) else [value for value in values if value or value not in _NULLS]
        self.nulls += len(values) - len(found)
        types = set(map(type, found))
        if len(self._hashes) <= MOST_DISTINCT:
            self._hashes.update(map(hash if types == {str} else _identity, found))
        if self._size is not None and found:
            self._widen(self._sizes(found, types))

    def _sizes(self, found: list[Any], types: set[type]) -> list[Any]:
        if self._quick is not None and types == {self._quick[0]}:
            with suppress(InvalidOperation, ValueError):
                return list(map(self._quick[1], found))
        assert self._size is not None
        return [size for size in map(self._size, found) if size is not None]

    def _widen(self, sizes: list[Any]) -> None:
        known = [size for size in (self._least, self._most) if size is not None]
        if sizes or known:
            self._least, self._most = min([*known, *sizes]), max([*known, *sizes])


def _identity(value: Any) -> Any:
    if isinstance(value, list | dict):
        value = json.dumps(value)
    # A number's hash does not identify it: -1 and -2 have the same.
    return hash(value) if isinstance(value, str) else value


def _shown(size: Any) -> str | None:
    if size is None:
        return None
    return size.isoformat() if hasattr(size, "isoformat") else f"{size}"
