"""The Arrow type of a column, and the conversion of its values.

The type follows from the declared type alone, never from the values, so that two exports have the same schema. A value
that does not fit raises DoesNotFit: no digit is lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NoReturn

import pyarrow as pa

from shoal.model.field_type import TEXT, FieldType, Precision
from shoal.store.database.storable_text import storable
from shoal.store.results.columns import Kind
from shoal.store.results.item_values import date_of, datetime_of, decimal_of

Convert = Callable[[Any], Any]

_DIGITS_OF_DECIMAL128 = 38
_INT64 = range(-(2**63), 2**63)


class DoesNotFit(ValueError):
    def __init__(self, value: Any, type: str) -> None:
        self.value = value
        self.type = type
        super().__init__(f"{value!r} is no {type}")


@dataclass(frozen=True, slots=True)
class ArrowColumn:
    type: pa.DataType
    convert: Convert

    def values(self, found: Iterable[Any]) -> list[Any]:
        """Raises DoesNotFit."""
        convert = self.convert
        return [None if value is None else convert(value) for value in found]


def text_of(value: Any) -> str:
    """Writes values other than text as JSON."""
    return storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _texts_of(entries: list[Any]) -> list[str | None]:
    return [None if entry is None else text_of(entry) for entry in entries]


_TEXT = ArrowColumn(pa.string(), text_of)
_OWN = {
    Kind.TEXT: _TEXT,
    Kind.INTEGER: ArrowColumn(pa.int64(), int),
    Kind.BOOLEAN: ArrowColumn(pa.bool_(), bool),
    Kind.TIME: ArrowColumn(pa.timestamp("ms", tz="UTC"), datetime.fromisoformat),
    Kind.TEXTS: ArrowColumn(pa.list_(pa.string()), _texts_of),
    Kind.OBJECT: _TEXT,
}


def arrow_column(type: Kind | FieldType) -> ArrowColumn:
    if isinstance(type, Kind):
        return _OWN[type]
    if type.kind == "decimal":
        return _decimals(type.precision)
    if type.kind == "list":
        return _lists(arrow_column(type.entry or TEXT))
    if type.fields:
        return _structs({name: arrow_column(field) for name, field in type.fields.items()})
    return _FIELDS.get(type.kind, _TEXT)


def _integer(value: Any) -> int:
    if type(value) is not int or value not in _INT64:
        _refuse(value, "64-bit integer")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        _refuse(value, "number")
    return float(value)


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        _refuse(value, "boolean")
    return value


def _parsed(parse: Convert, name: str) -> Convert:
    def convert(value: Any) -> Any:
        found = parse(value)
        return _refuse(value, name) if found is None else found

    return convert


_FIELDS = {
    "integer": ArrowColumn(pa.int64(), _integer),
    "number": ArrowColumn(pa.float64(), _number),
    "boolean": ArrowColumn(pa.bool_(), _boolean),
    "date": ArrowColumn(pa.date32(), _parsed(date_of, "date")),
    "datetime": ArrowColumn(pa.timestamp("us", tz="UTC"), _parsed(datetime_of, "date and time")),
}
"""Other kinds are text."""


def _decimals(precision: Precision) -> ArrowColumn:
    make = pa.decimal128 if precision.digits <= _DIGITS_OF_DECIMAL128 else pa.decimal256

    def convert(value: Any) -> Decimal:
        number = decimal_of(value)
        if number is None or not precision.holds(number):
            _refuse(value, str(precision))
        return number

    return ArrowColumn(make(precision.digits, precision.places), convert)


def _lists(entry: ArrowColumn) -> ArrowColumn:
    def convert(value: Any) -> list[Any]:
        return entry.values(value) if isinstance(value, list) else _refuse(value, "list")

    return ArrowColumn(pa.list_(entry.type), convert)


def _structs(fields: Mapping[str, ArrowColumn]) -> ArrowColumn:
    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            _refuse(value, "object")
        return {name: column.values((value.get(name),))[0] for name, column in fields.items()}

    return ArrowColumn(pa.struct([(name, column.type) for name, column in fields.items()]), convert)


def _refuse(value: Any, type: str) -> NoReturn:
    raise DoesNotFit(value, type)
