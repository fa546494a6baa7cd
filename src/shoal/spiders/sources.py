"""From the SOURCE words of a command to inputs, read as a stream: only a fingerprint per line is held.

A word is a URL, a list (`-`, `@FILE` or an existing file), or a URL without its scheme. Lines are numbered as if all
sources were one list. What cannot be read at all raises UsageError, before the first input where that can be known;
a line that is no URL is an input with a reason. No password stays in `spelt`.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from shoal.errors import InvalidURL, UsageError
from shoal.model import Input, ScopeKind, Target
from shoal.spiders.first_lines import FirstLines
from shoal.spiders.lists import (
    ANYTHING_WITH_AT,
    LINE_CHARS,
    Entry,
    bare,
    file_entries,
    spelt_safely,
    stream_entries,
)
from shoal.spiders.mistaken import check_is_no_file
from shoal.urls import Params, canonical, credentials_of, host_of, origin_of, target

BAD_KEPT = 1_000
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9]+(?:[/?#\\]|\Z))")
"""Not the host of `localhost:8000`."""
_HOST_END = re.compile(r"[/\\?#]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
AUTHORITY_WITH_USER = re.compile(r"\A((?:https?:)?[/\\]*)[^/\\?#]*@", re.IGNORECASE)


class BadLine(NamedTuple):
    line: int
    spelt: str
    reason: str


class _Source(NamedTuple):
    name: str
    entries: Iterator[Entry]
    is_list: bool


Passed = Callable[[BinaryIO], BinaryIO]
"""What reads a list through something, such as what keeps a copy of it."""


class Sources:
    """What the words stand for. `inputs` can be read once; the figures are complete when it has been."""

    def __init__(self, sources: Sequence[_Source], params: Params, group: str) -> None:
        self.name = sources[0].name
        self.are_lists = [source.is_list for source in sources]
        """Of each word."""
        self.inputs: Iterator[Input] = self._read(sources)
        self.good = 0
        """Distinct requests; `duplicates` and `bad_count` come on top."""
        self.duplicates = 0
        self.bad: list[BadLine] = []
        """The first BAD_KEPT of them."""
        self.bad_count = 0
        self.credentials: dict[str, str] = {}
        """origin -> "user:password"."""
        self._params = params
        self._group = group
        self._lines = FirstLines()

    @property
    def listed(self) -> bool:
        return any(self.are_lists)

    def _read(self, sources: Sequence[_Source]) -> Iterator[Input]:
        line = 0
        for source in sources:
            before = line
            for place, text, problem in source.entries:
                line = before + place
                if text or problem or not source.is_list:
                    yield self._input(line, text, problem)
        # Many bytes of a long list, of no use any more.
        self._lines.clear()

    def _input(self, line: int, text: str, problem: str | None) -> Input:
        try:
            wanted = self._target(text, problem)
        except InvalidURL as error:
            return self._refused(line, text, error.reason)
        first = self._lines.of(wanted.fingerprint, line)
        self.good += first == line
        self.duplicates += first != line
        return Input(line, spelt_safely(text, AUTHORITY_WITH_USER), wanted, None, first if first != line else None)

    def _target(self, text: str, problem: str | None) -> Target:
        if problem:
            raise InvalidURL(text, problem)
        url = absolute(text)
        wanted = target(url, self._params, self._group)
        if "@" in url and (credentials := credentials_of(url)):
            origin = origin_of(wanted.url)
            if self.credentials.setdefault(origin, credentials) != credentials:
                raise InvalidURL(text, "other_credentials")
        return wanted

    def _refused(self, line: int, text: str, reason: str) -> Input:
        # Where parsing failed nobody knows where a password ends: `https://ann:p/w@host/`.
        spelt = spelt_safely(text, ANYTHING_WITH_AT)
        self.bad_count += 1
        if len(self.bad) < BAD_KEPT:
            self.bad.append(BadLine(line, spelt, reason))
        return Input(line, spelt, None, reason)


def read_sources(
    words: Sequence[str],
    params: Params,
    group: str,
    column: str | None,
    stdin: BinaryIO,
    passed: Passed = lambda stream: stream,
) -> Sources:
    """`words` holds at least one. `column` is a name in the header row of CSV, or a number from 1 without header."""
    if words.count("-") > 1:
        raise UsageError("standard input can be read only once: give - a single time")
    sources = [_source(word, column, stdin, passed) for word in words]
    if column is not None and not any(source.is_list for source in sources):
        raise UsageError(f"--column {column} is for a list, and there is none: give @FILE or -")
    return Sources(sources, params, group)


def given_urls(urls: Sequence[str | None], params: Params, group: str) -> Sources:
    """Each is taken for a URL, never for the name of a file: they may have been sent from elsewhere.

    None stands for a line of the list they come from that has none.
    """
    first = next((url for url in urls if url is not None), None)
    if first is None:
        raise UsageError("there is no URL to start from: give one")
    entries: Iterator[Entry] = ((place, bare(url), None) for place, url in enumerate(urls, 1) if url is not None)
    return Sources([_Source(_name(bare(first)), entries, False)], params, group)


def no_urls(params: Params, group: str) -> Sources:
    """Of a job that is told what to fetch only later."""
    return Sources([_Source("crawl", iter(()), False)], params, group)


def seed_scope(listed: bool, asked: ScopeKind | None) -> ScopeKind:
    if asked is not None:
        return asked
    return ScopeKind.LISTED if listed else ScopeKind.HOST


def _source(word: str, column: str | None, stdin: BinaryIO, passed: Passed) -> _Source:
    if word == "-":
        return _Source("stdin", stream_entries(passed(stdin), column, "standard input"), True)
    path = _list_path(word)
    if path is not None:
        return _Source(path.stem, file_entries(path, column, passed), True)
    text = bare(word)
    check_is_no_file(text)
    return _Source(_name(text), iter([(1, text, None)]), False)


def _list_path(word: str) -> Path | None:
    if word.startswith("@"):
        return Path(word[1:])
    if "://" in word:
        return None
    return Path(word) if _is_there(word) else None


def _is_there(word: str) -> bool:
    """A pipe counts as a file; a directory does not, for `wget` leaves some that are named like hosts."""
    try:
        return not stat.S_ISDIR(Path(word).stat().st_mode)
    except (OSError, ValueError):
        return False


def _name(text: str) -> str:
    try:
        return host_of(canonical(absolute(text)))
    except InvalidURL:
        return "crawl"


def absolute(text: str) -> str:
    """The URL that a spelling stands for. Raises InvalidURL for what a parser would take, but nobody means."""
    if len(text) >= LINE_CHARS:
        raise InvalidURL(text, "too_long")
    if _CONTROL.search(text):
        # The parser drops tabs and newlines, which here part two cells far more often than they break a URL.
        raise InvalidURL(text, "control_character")
    if _SCHEME.match(text):
        return text
    if text.startswith("//"):
        return f"https:{text}"
    if text.startswith(("/", "\\", ".")):
        raise InvalidURL(text, "malformed")
    if AUTHORITY_WITH_USER.match(text):
        # An e-mail address.
        raise InvalidURL(text, "not_http")
    if "," in _HOST_END.split(text, 1)[0]:
        raise InvalidURL(text, "cells")
    return f"https://{text}"
