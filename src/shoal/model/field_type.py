"""The type of an item's field, as it is declared. A job stores it, so that an export needs no spider.

As JSON: `"integer"`, `"decimal(12,2)"`, `{"list": "integer"}` or `{"object": {"name": "text"}}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal

MAX_DIGITS = 76
"""The most digits of a decimal in Arrow and Parquet."""

DECIMAL_TYPE = r"decimal\( *([0-9]{1,2}) *, *([0-9]{1,2}) *\)"


@dataclass(frozen=True, slots=True)
class Precision:
    """How many digits a decimal may have: in all, and after the point."""

    digits: int = 38
    places: int = 9

    def __post_init__(self) -> None:
        if not (1 <= self.digits <= MAX_DIGITS and 0 <= self.places <= self.digits):
            raise ValueError(
                f"precision {self.digits}, {self.places}: give the number of digits, 1 to {MAX_DIGITS}, "
                "and how many of them are after the point, as in (12, 2)"
            )

    def __str__(self) -> str:
        return f"decimal({self.digits},{self.places})"

    def holds(self, number: Decimal) -> bool:
        """Whether a decimal of this precision has exactly this value."""
        _, digits, exponent = number.as_tuple()
        if not isinstance(exponent, int) or (number and number.adjusted() >= self.digits - self.places):
            return False
        return exponent >= -self.places or not any(digits[self.places + exponent :])


@dataclass(frozen=True, slots=True)
class FieldType:
    kind: str
    """One of `text integer number decimal boolean date datetime url list object`."""
    precision: Precision = Precision()
    """Of a decimal."""
    entry: FieldType | None = None
    """Of a list: the type of its entries."""
    fields: Mapping[str, FieldType] | None = None
    """Of a nested item; None: an object whose fields are not known."""


TEXT = FieldType("text")


def decimal_type(text: str) -> FieldType | None:
    """Parses `decimal(12,2)`. Raises ValueError for a precision that no decimal has."""
    found = re.fullmatch(DECIMAL_TYPE, text)
    return FieldType("decimal", Precision(int(found[1]), int(found[2]))) if found else None


def type_to_json(type: FieldType) -> Any:
    if type.kind == "list":
        return {"list": type_to_json(type.entry or TEXT)}
    if type.kind == "object" and type.fields is not None:
        return {"object": {name: type_to_json(field) for name, field in type.fields.items()}}
    return str(type.precision) if type.kind == "decimal" else type.kind


def type_from_json(value: Any) -> FieldType:
    if isinstance(value, str):
        return decimal_type(value) or FieldType(value, entry=TEXT if value == "list" else None)
    if "list" in value:
        return FieldType("list", entry=type_from_json(value["list"]))
    return FieldType("object", fields={name: type_from_json(field) for name, field in value["object"].items()})


def merge_fields(first: Mapping[str, FieldType], second: Mapping[str, FieldType]) -> dict[str, FieldType]:
    """The fields of both, in the order of the first."""
    common = {name: merge_types(type, second[name]) for name, type in first.items() if name in second}
    return {**first, **second, **common}


def merge_types(first: FieldType, second: FieldType) -> FieldType:
    """A type for the values of both. If they have nothing in common it is text, which can hold any value."""
    if first == second:
        return first
    if first.kind != second.kind:
        return TEXT
    if first.kind == "decimal":
        return _wider(first.precision, second.precision)
    if first.kind == "list" and first.entry and second.entry:
        return FieldType("list", entry=merge_types(first.entry, second.entry))
    if first.fields is not None and second.fields is not None:
        return FieldType("object", fields=merge_fields(first.fields, second.fields))
    return FieldType("object")


def _wider(first: Precision, second: Precision) -> FieldType:
    places = max(first.places, second.places)
    digits = places + max(first.digits - first.places, second.digits - second.places)
    return FieldType("decimal", Precision(digits, places)) if digits <= MAX_DIGITS else TEXT
