"""Path patterns of robots.txt, with `*` for any characters and `$` for the end. Finds the longest match.

Patterns without an asterisk are found by the prefixes of the path. Those with one are tried in turn. If there are many,
only those are tried that share three characters with the path. A file can still have more candidates than can be tried
without delaying other hosts. Then there is no result for that path.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

PATTERN_BYTES = 100
_GRAM_BYTES = 250
"""Memory of a separate text, and of a gram with the text of its patterns."""
_FEW_CHARS = 1_000
"""Patterns with an asterisk that have no more characters in total are all tried."""
_MOST_STEPS = 4_000_000
"""Limit of the search for matches among many. A step takes half a nanosecond."""
_STEPS_EACH = 1_000
_GRAM = 3


class Split(NamedTuple):
    """A pattern with an asterisk."""

    length: int
    first: str
    middle: list[str]
    last: str | None
    """The required end of a path."""


class Patterns:
    def __init__(self, spelt: Iterable[str]) -> None:
        # A pattern that begins otherwise matches no path.
        patterns = {pattern for pattern in spelt if pattern.startswith(("/", "*"))}
        self.is_empty = not patterns
        self._beginnings: dict[str, int] = {}
        """Prefix -> length of the pattern, which includes asterisks at its end."""
        self._whole: set[str] = set()
        """Complete paths, from patterns with `$`."""
        wild = [pattern for pattern in patterns if not self._takes(pattern)]
        wild.sort(key=len, reverse=True)
        self._lengths = sorted({len(beginning) for beginning in self._beginnings})
        is_few = sum(map(len, wild)) <= _FEW_CHARS
        self._few = [_split(pattern) for pattern in wild] if is_few else []
        self._many = {} if is_few else _by_gram(wild)
        texts = len(self._beginnings) + len(self._whole) + len(self._few)
        self.size_bytes = sum(map(len, patterns)) + PATTERN_BYTES * texts + _GRAM_BYTES * len(self._many)

    def _takes(self, pattern: str) -> bool:
        """Whether the pattern needs no trying."""
        beginning = pattern.rstrip("*")
        if "*" in beginning:
            return False
        if beginning.endswith("$"):
            self._whole.add(beginning[:-1])
        else:
            self._beginnings[beginning] = max(len(pattern), self._beginnings.get(beginning, 0))
        return True

    def longest(self, path: str) -> int | None:
        """The length of the longest match; 0: no match. None: there are too many candidates to tell."""
        found = 0
        for length in self._lengths:
            if length > len(path):
                break
            if (fitting := self._beginnings.get(path[:length], 0)) > found:
                found = fitting
        if path in self._whole:
            found = max(found, len(path) + 1)
        for split in self._few:
            if split.length <= found:
                break
            if _fits(split, path):
                return split.length
        return self._longest_of_many(path, found) if self._many else found

    def _longest_of_many(self, path: str, found: int) -> int | None:
        steps = 0
        for pattern in self._candidates(path):
            if len(pattern) <= found:
                break
            is_too_long = len(pattern) > len(path) and len(pattern) - pattern.count("*") > len(path) + 1
            steps += _STEPS_EACH if is_too_long else _STEPS_EACH + len(pattern) * len(path)
            if steps > _MOST_STEPS:
                return None
            if not is_too_long and _fits(split := _split(pattern), path):
                return split.length
        return found

    def _candidates(self, path: str) -> Iterable[str]:
        """The possible matches among many patterns, longest first."""
        grams = {path[at : at + _GRAM] for at in range(len(path) - _GRAM + 1)}
        grams.add("")
        found = [self._many[gram].split("\n") for gram in grams & self._many.keys()]
        return heapq.merge(*found, key=len, reverse=True)


def _by_gram(wild: list[str]) -> dict[str, str]:
    """Maps the rarest gram that a matching path must contain, or an empty text, to its patterns, one per line."""
    counts = Counter(gram for pattern in wild for gram in _grams(pattern))
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pattern in wild:
        found[min(_grams(pattern), key=counts.__getitem__, default="")].append(pattern)
    return {gram: "\n".join(patterns) for gram, patterns in found.items()}


def _grams(pattern: str) -> list[str]:
    piece = max(pattern.removesuffix("$").split("*"), key=len)
    last = len(piece) - _GRAM
    return [piece[at : at + _GRAM] for at in (0, last // 3, last * 2 // 3, last)] if last >= 0 else []


def _split(pattern: str) -> Split:
    first, *pieces = pattern.removesuffix("$").split("*")
    last = pieces.pop() if pattern.endswith("$") else None
    return Split(len(pattern), first, [piece for piece in pieces if piece], last)


def _fits(split: Split, path: str) -> bool:
    if not path.startswith(split.first):
        return False
    at, end = len(split.first), len(path)
    if split.last is not None:
        end -= len(split.last)
        if end < at or not path.endswith(split.last):
            return False
    for piece in split.middle:
        at = path.find(piece, at, end) + len(piece)
        if at < len(piece):
            return False
    return True
