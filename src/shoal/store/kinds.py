"""What kinds of values the fields of items hold: told by their type or, for plain mappings, by the values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shoal.store.columns import Kind

COLUMN_KINDS = {
    "text": Kind.TEXT,
    "url": Kind.TEXT,
    "integer": Kind.WHOLE,
    "number": Kind.NUMBER,
    "decimal": Kind.DECIMAL,
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
    "datetime": Kind.DATETIME,
    "list": Kind.LIST,
    "object": Kind.OBJECT,
}
"""The kinds of `ItemType` as those of a column."""

_OF_VALUES = {str: "text", bool: "boolean", int: "integer", float: "number", list: "list", dict: "object"}
_NUMBERS = frozenset({"integer", "number"})


def agreed(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """The fields of both; one whose kinds differ is text, which holds whatever the others would."""
    differing = {name: "text" for name, kind in second.items() if first.get(name, kind) != kind}
    return {**first, **second, **differing}


def kinds_in(items: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The fields of plain mappings in the order they are met; one that is always null is text."""
    met: dict[str, set[str]] = {}
    for item in items:
        for name, value in item.items():
            kinds = met.setdefault(name, set())
            if value is not None:
                kinds.add(_OF_VALUES[type(value)])
    return {name: _one(kinds) for name, kinds in met.items()}


def _one(kinds: set[str]) -> str:
    if kinds == _NUMBERS:
        return "number"
    return kinds.pop() if len(kinds) == 1 else "text"
