"""The names of a page's built-in formats. `make_formats` makes them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from shoal.errors import MissingExtra, UsageError

FORMATS = ("metadata", "main", "markdown", "page_markdown", "tables")
_MARKDOWN = frozenset(("markdown", "page_markdown"))


def asked_formats(names: Iterable[str]) -> tuple[str, ...]:
    """Removes repeats and sorts the names. Raises UsageError for an unknown format, or one that is not installed."""
    asked = set(names)
    if unknown := sorted(asked.difference(FORMATS)):
        raise UsageError(f"there is no format {unknown[0]!r}: choose from {', '.join(FORMATS)}")
    if asked & _MARKDOWN and importlib.util.find_spec("html_to_markdown") is None:
        raise MissingExtra(f"the format {min(asked & _MARKDOWN)} needs a further package", "text")
    return tuple(name for name in FORMATS if name in asked)
