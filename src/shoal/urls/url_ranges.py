"""Ranges in start URLs, as in shells: `page-{1..50}.html`, `{01..50}` with zeros, `/{shoes,hats}/` for names.

Anything else in braces stays as it is. Names are taken only before the `?`: a query may have `{id,name}` for a server.
Whoever means a range literally writes `%7B1..50%7D`.
"""

from __future__ import annotations

import re
from itertools import product

from shoal.errors import UsageError

MOST_URLS = 10_000
_NUMBERS = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})(?:\.\.(\d{1,9}))?\}")
_NAMES = re.compile(r"\{([\w.~%-]+(?:,[\w.~%-]+)+)\}")


def expand_ranges(url: str) -> list[str]:
    """The URLs that it stands for, the last range counting fastest. Raises UsageError if they are too many."""
    if "{" not in url:
        return [url]
    path, question, query = url.partition("?")
    parts = [*_parts(path, names=True), *([[question]] if question else []), *_parts(query, names=False)]
    total = 1
    for part in parts:
        total *= len(part)
        if total > MOST_URLS:
            raise UsageError(f"the ranges of {url!r} give more than {MOST_URLS:,} URLs: use a list, @FILE")
    return ["".join(chosen) for chosen in product(*parts)]


def _parts(text: str, names: bool) -> list[list[str]]:
    found: list[list[str]] = []
    at = 0
    for match in re.finditer(r"\{[^{}]*\}", text):
        options = _options(match[0], names)
        if options is not None:
            found += [[text[at : match.start()]], options]
            at = match.end()
    return [*found, [text[at:]]]


def _options(braces: str, names: bool) -> list[str] | None:
    if numbers := _NUMBERS.fullmatch(braces):
        return _counted(numbers[1], numbers[2], int(numbers[3] or 1) or 1)
    if names and (words := _NAMES.fullmatch(braces)):
        return words[1].split(",")
    return None


def _counted(first: str, last: str, step: int) -> list[str]:
    padded = any(text.startswith("0") and len(text) > 1 for text in (first, last))
    width = max(len(first), len(last)) if padded else 0
    begin, end = int(first), int(last)
    # One more than is allowed is enough to be refused.
    counted = range(begin, end + 1, step) if begin <= end else range(begin, end - 1, -step)
    return [f"{n:0{width}}" for n in counted[: MOST_URLS + 1]]
