"""Formats text for a terminal: aligned columns, shortened text, and web text without control characters."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from shoal.wording import one_line

_COMMAND = re.compile("`[^`]*`")
_KEPT = "\0"
"""Stands for a space at which a line must not break."""


def table(rows: Iterable[Sequence[str]], header: Sequence[str], width: int, right: frozenset[int]) -> list[str]:
    """Aligned columns, at most `width` wide: the last column is shortened."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(header))]
    room = width - sum(widths[:-1]) - 2 * (len(widths) - 1)
    widths[-1] = max(10, min(widths[-1], room))
    return [_line(row, widths, right) for row in cells]


def _line(row: list[str], widths: list[int], right: frozenset[int]) -> str:
    row = [*row[:-1], shortened(row[-1], widths[-1])]
    padded = [
        cell.rjust(width) if place in right else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def shortened(text: str, width: int) -> str:
    """Keeps both ends: the host and the last part of a URL matter most."""
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def folded(text: str, width: int, indent: str) -> list[str]:
    """Wraps text; later lines are indented by four more spaces, and longer words are shortened."""
    deeper = indent + " " * 4
    room = width - len(deeper)
    return textwrap.wrap(
        long_words_shortened(text, room), width, initial_indent=indent, subsequent_indent=deeper, break_on_hyphens=False
    )


def wrapped(text: str, width: int) -> list[str]:
    """Wraps text between words; a command in backticks stays on one line, so that it can be copied."""
    if len(text) <= width:
        return [text]
    indent = " " * (len(text) - len(text.lstrip()))
    lines = textwrap.wrap(
        _COMMAND.sub(lambda found: found[0].replace(" ", _KEPT), text.strip()),
        width,
        initial_indent=indent,
        subsequent_indent=indent + " " * 4,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_KEPT, " ") for line in lines]


def long_words_shortened(text: str, width: int) -> str:
    return " ".join(shortened(word, width) for word in text.split(" "))


def safe(text: str) -> str:
    """Makes text from the web harmless for a terminal, on one line."""
    return one_line(text)
