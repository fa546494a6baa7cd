"""Text that every database and every reader takes: no lone surrogates, no NUL."""

from __future__ import annotations

from typing import Any

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str) -> str:
    if not text.isascii():
        # UTF-16 joins the halves of a pair that came in separately; what stays alone is replaced.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", _REPLACEMENT)


def storable_row(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([storable(value) if type(value) is str else value for value in values])
