"""A DataFrame of items or pages. The type of a column follows from the declared type of its field, as in Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any

from shoal.errors import UsageError
from shoal.model.field_type import TEXT, FieldType
from shoal.store.results.columns import Columns, Kind
from shoal.store.results.item_values import date_of, datetime_of, decimal_of

Convert = Callable[[Any], Any]

# Nullable types: one missing value must not make floats of integers.
_DTYPES = {
    "integer": "Int64",
    "number": "float64",
    "boolean": "boolean",
    "date": "datetime64[s]",
    "datetime": "datetime64[us, UTC]",
    "time": "datetime64[ms, UTC]",
}
_PARSERS: dict[str, Convert] = {
    "decimal": decimal_of,
    "date": date_of,
    "datetime": datetime_of,
    "time": datetime.fromisoformat,
}


def data_frame(rows: Iterable[Mapping[str, Any]], columns: Columns) -> Any:
    """Raises UsageError without pandas."""
    try:
        # By name: it is no dependency, and type checkers need not know it.
        pandas = import_module("pandas")
    except ImportError:
        raise UsageError("to_pandas() needs pandas, which is not installed: pip install pandas") from None
    found = list(rows)
    return pandas.DataFrame({name: _series(pandas, type, name, found) for name, type in columns.items()})


def _series(pandas: Any, type: Kind | FieldType, name: str, rows: list[Mapping[str, Any]]) -> Any:
    convert = _converter(type)
    values = [None if row.get(name) is None else convert(row[name]) for row in rows]
    dtype = _DTYPES.get(type if isinstance(type, Kind) else type.kind, "object" if _is_object(type) else None)
    try:
        return pandas.Series(values, dtype=dtype)
    except (OverflowError, TypeError, ValueError):
        # A value that the type cannot hold, such as an integer of 70 bits, stays what it is.
        return pandas.Series(values, dtype="object")


def _is_object(type: Kind | FieldType) -> bool:
    return isinstance(type, FieldType) and type.kind in ("decimal", "list", "object")


def _converter(type: Kind | FieldType) -> Convert:
    """For values that JSON stores as text. What does not parse stays as it is."""
    if isinstance(type, FieldType) and type.kind == "list":
        return partial(_each, _converter(type.entry or TEXT))
    if isinstance(type, FieldType) and type.fields:
        return partial(_fields, {name: _converter(field) for name, field in type.fields.items()})
    parse = _PARSERS.get(type if isinstance(type, Kind) else type.kind)
    return _same if parse is None else partial(_parsed, parse)


def _same(value: Any) -> Any:
    return value


def _parsed(parse: Convert, value: Any) -> Any:
    found = parse(value)
    return value if found is None else found


def _each(convert: Convert, value: Any) -> Any:
    return [None if entry is None else convert(entry) for entry in value] if isinstance(value, list) else value


def _fields(converters: Mapping[str, Convert], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: one if one is None else converters.get(name, _same)(one) for name, one in value.items()}
