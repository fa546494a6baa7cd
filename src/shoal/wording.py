"""Text for people that every room writes: counted nouns, sizes, the nearest known name, foreign text on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BLANK = re.compile(r"\s*[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*")
"""Line ends and tabs, with the blanks around them."""


def plural(n: int, noun: str) -> str:
    """`1 page`, `2,000 pages`, `3 entries`."""
    if n == 1:
        return f"{n} {noun}"
    ends_in_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{n:,} {noun[:-1]}ies" if ends_in_y else f"{n:,} {noun}s"


def size(n: float) -> str:
    """`90 B`, `1.5 MB`."""
    value = float(n)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean pages?)`, or nothing if no known word is near."""
    # Only here: who makes no mistake need not load it.
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), 1)
    return f" (did you mean {near[0]}?)" if near else ""


def one_line(text: str) -> str:
    """Makes text from elsewhere harmless on a terminal and in a log: a line end becomes a blank, and any other control
    character a visible escape."""
    if text.isprintable():
        return text
    joined = _BLANK.sub(" ", text)
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in joined)
