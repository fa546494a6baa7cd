"""Tells whether the text of a page has changed, or only what surrounds it: markup, tokens and time stamps.

Two texts are the same if their digests are: of their words, without long random tokens, times of day with the dates
next to them, and how long the page took. A date without a time counts as content, and so does any other number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

CONTENT, MARKUP, NO = "content", "markup", "no"
"""What has changed in a page: what people read, only something else, or nothing."""

_TIME = re.compile(r"(?:^|[T(\[])\d{1,2}:\d{2}(?::\d{2})?")
_DURATION = re.compile(r"\d+[.,]\d+(?:ms|s)?[.,;)]?")
_UNITS = frozenset(("ms", "s", "sec", "secs", "second", "seconds", "milliseconds"))
_TOKEN = re.compile(r"[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=\D*\d\D*\d)[A-Za-z0-9+/_=-]{32,}")
_TOKEN_CHARS = 16
_DATE = re.compile(
    r"\d{1,4}(?:[-/.]\d{1,2}){0,2}(?:st|nd|rd|th)?|[ap]\.?m|utc|gmt|z|[+-]\d{2}:?\d{2}"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}"
)
_BESIDE = 4
"""How many words of a date may be on either side of a time."""


def content_digest(text: str) -> bytes:
    return blake2b(" ".join(_lasting(text.split())).encode("utf-8", "replace"), digest_size=16).digest()


def change_kind(digests_differ: bool, before: str | None, now: str | None) -> str:
    """Texts are None if they are not stored: then a change of the page counts as one of its content."""
    if not digests_differ:
        return NO
    if before is None or now is None or content_digest(before) != content_digest(now):
        return CONTENT
    return MARKUP


def _lasting(words: list[str]) -> Iterable[str]:
    # Simple checks first: few words of a page need a pattern.
    left: list[str | None] = [None if len(word) >= _TOKEN_CHARS and _TOKEN.fullmatch(word) else word for word in words]
    for place, word in enumerate(words):
        if ":" in word and _TIME.search(word):
            left[place] = None
            _leave_out_date(words, left, place)
        elif word[0].isdigit() and _is_duration(words, place):
            left[place] = None
    return filter(None, left)


def _leave_out_date(words: list[str], left: list[str | None], time: int) -> None:
    for way in (-1, 1):
        place = time + way
        while 0 <= place < len(words) and abs(place - time) <= _BESIDE and _is_date(words[place]):
            left[place] = None
            place += way


def _is_date(word: str) -> bool:
    return len(word) <= _TOKEN_CHARS and _DATE.fullmatch(word.strip(",.()").lower()) is not None


def _is_duration(words: list[str], place: int) -> bool:
    word = words[place]
    if not _DURATION.fullmatch(word):
        return False
    following = words[place + 1].strip(".,;)").lower() if place + 1 < len(words) else ""
    return "s" in word or following in _UNITS
