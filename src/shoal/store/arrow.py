"""The Arrow type of a column, and its values as that type wants them.

The kind of an item's field leaves open how many digits its decimals have, and what its lists hold. A survey of the
values finds the narrowest type that holds them all exactly; if one is not of the field's kind, the column is text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from shoal.store.columns import Kind
from shoal.store.text import storable
from shoal.store.values import date_of, datetime_of, decimal_of

SURVEYED = frozenset({Kind.WHOLE, Kind.DECIMAL, Kind.DATE, Kind.DATETIME, Kind.LIST})
"""Kinds whose columns need a survey; `plain_column` has the others."""

_DIGITS_OF_INT64 = 18
_DIGITS_OF_DECIMAL128 = 38
_DIGITS_OF_DECIMAL256 = 76


@dataclass(frozen=True, slots=True)
class ArrowColumn:
    type: pa.DataType
    convert: Callable[[Any], Any]

    def values(self, found: Iterable[Any]) -> list[Any]:
        convert = self.convert
        return [None if value is None else convert(value) for value in found]


def text_of(value: Any) -> str:
    """What is no text is written as JSON."""
    return storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _texts_of(entries: list[Any]) -> list[str | None]:
    return [None if entry is None else text_of(entry) for entry in entries]


_TEXT = ArrowColumn(pa.string(), text_of)
_TEXTS = ArrowColumn(pa.list_(pa.string()), _texts_of)
_INTEGER = ArrowColumn(pa.int64(), int)
_PLAIN = {
    Kind.TEXT: _TEXT,
    Kind.INTEGER: _INTEGER,
    Kind.NUMBER: ArrowColumn(pa.float64(), float),
    Kind.BOOLEAN: ArrowColumn(pa.bool_(), bool),
    Kind.TIME: ArrowColumn(pa.timestamp("ms", tz="UTC"), datetime.fromisoformat),
    Kind.TEXTS: _TEXTS,
    Kind.OBJECT: _TEXT,
}
_MOMENTS = {
    Kind.DATE: ArrowColumn(pa.date32(), date_of),
    Kind.DATETIME: ArrowColumn(pa.timestamp("us", tz="UTC"), datetime_of),
}


def plain_column(kind: Kind) -> ArrowColumn:
    return _PLAIN[kind]


class Survey:
    """What the values of a column have in common."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._fits = True
        self._whole_digits = 0
        self._scale = 0
        self._entries: set[type] = set()

    def look(self, values: list[Any]) -> None:
        if not self._fits:
            return
        if self._kind in _MOMENTS:
            convert = _MOMENTS[self._kind].convert
            self._fits = all(convert(value) is not None for value in values)
        elif self._kind is Kind.LIST:
            self._look_at_lists(values)
        else:
            self._look_at_numbers(values)

    def column(self) -> ArrowColumn:
        if not self._fits:
            return _TEXT
        if self._kind in _MOMENTS:
            return _MOMENTS[self._kind]
        return self._column_of_lists() if self._kind is Kind.LIST else self._column_of_numbers()

    def _look_at_lists(self, values: list[Any]) -> None:
        self._fits = all(isinstance(value, list) for value in values)
        for value in values if self._fits else ():
            self._entries.update(map(type, value))
            self._look_at_numbers([entry for entry in value if type(entry) is int])

    def _look_at_numbers(self, values: list[Any]) -> None:
        for value in values:
            number = decimal_of(value)
            if number is None:
                self._fits = False
                return
            self._whole_digits = max(self._whole_digits, number.adjusted() + 1)
            self._scale = max(self._scale, -int(number.as_tuple().exponent))

    def _column_of_numbers(self) -> ArrowColumn:
        digits = max(1, self._whole_digits + self._scale)
        if self._kind is Kind.WHOLE and not self._scale and digits <= _DIGITS_OF_INT64:
            return _INTEGER
        if digits <= _DIGITS_OF_DECIMAL128:
            return ArrowColumn(pa.decimal128(digits, self._scale), decimal_of)
        if digits <= _DIGITS_OF_DECIMAL256:
            return ArrowColumn(pa.decimal256(digits, self._scale), decimal_of)
        return _TEXT

    def _column_of_lists(self) -> ArrowColumn:
        entries = self._entries - {type(None)}
        if entries == {bool}:
            return ArrowColumn(pa.list_(pa.bool_()), list)
        if self._whole_digits <= _DIGITS_OF_INT64 and entries == {int}:
            return ArrowColumn(pa.list_(pa.int64()), list)
        if self._whole_digits <= _DIGITS_OF_INT64 and entries in ({float}, {int, float}):
            return ArrowColumn(pa.list_(pa.float64()), list)
        return _TEXTS
