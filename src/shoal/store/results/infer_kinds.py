"""Infers the kinds of the fields of plain mappings from their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_OF_VALUES = {str: "text", bool: "boolean", int: "integer", float: "number", list: "list", dict: "object"}
_NUMBERS = frozenset({"integer", "number"})


def infer_kinds(items: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The fields are in the order of their first use; a field that is always null is text."""
    seen: dict[str, set[str]] = {}
    for item in items:
        for name, value in item.items():
            kinds = seen.setdefault(name, set())
            if value is not None:
                kinds.add(_OF_VALUES[type(value)])
    return {name: _one(kinds) for name, kinds in seen.items()}


def _one(kinds: set[str]) -> str:
    if kinds == _NUMBERS:
        return "number"
    return kinds.pop() if len(kinds) == 1 else "text"
