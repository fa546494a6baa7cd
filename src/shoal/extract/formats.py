"""Which built-in formats of a page there are; `formatted` makes them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from shoal.errors import MissingExtra, UsageError

FORMATS = ("metadata", "main", "markdown", "tables")


def asked_formats(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, in one order. Raises UsageError for one that does not exist or is not installed."""
    asked = set(names)
    if unknown := sorted(asked.difference(FORMATS)):
        raise UsageError(f"there is no format {unknown[0]!r}: choose from {', '.join(FORMATS)}")
    if "markdown" in asked and importlib.util.find_spec("html_to_markdown") is None:
        raise MissingExtra("the format markdown needs a further package", "text")
    return tuple(name for name in FORMATS if name in asked)
