"""Reads the SOURCE arguments of a command into inputs, as a stream: only a fingerprint per line stays in memory.

A source is a URL, a list (`-`, `@FILE` or an existing file), or a URL without its scheme. A list may be a sitemap.
Lines are numbered as if all sources were one list. An unreadable source raises UsageError, before the first input if
possible. A line that is not a URL becomes an input with a reason. `spelt` never contains a password.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from shoal.errors import InvalidURL, UsageError
from shoal.model import Input, ScopeKind, Target
from shoal.model.options import DEFAULTS
from shoal.spiders.first_line_of_url import FirstLines
from shoal.spiders.missing_file_check import check_is_no_file
from shoal.spiders.url_lists import (
    ANYTHING_WITH_AT,
    AUTHORITY_WITH_USER,
    LINE_CHARS,
    Entry,
    bare,
    file_entries,
    safe_columns,
    spelt_safely,
    stream_entries,
)
from shoal.urls import Params, canonical, credentials_of, host_of, origin_of, target
from shoal.urls.url_ranges import expand_ranges

BAD_KEPT = 1_000
_STDIN = "standard input"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9]+(?:[/?#\\]|\Z))")
"""Does not match the host of `localhost:8000`."""
_HOST_END = re.compile(r"[/\\?#]")
_PORT = re.compile(r":[0-9]+\Z")
_MISSPELT = re.compile(r"(?!https?:[/\\]{2})h{0,2}[tp]{1,5}s{0,2}[:;,.]{0,2}[/\\]{2}", re.IGNORECASE)
"""`http//host`, `htp://host`, `https;//host`."""
_SCHEMES = ("http", "https")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_DOT_AS_COMMA = re.compile(r"www,[^,]+|[^,.]+,[a-z]{2,6}", re.IGNORECASE)
"""`www,example.com`, `example,com`: but for the comma, a host. `Old Mill,example.com` is a row of CSV."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class BadLine(NamedTuple):
    line: int
    spelt: str
    reason: str


class _Source(NamedTuple):
    name: str
    entries: Iterator[Entry]
    is_list: bool


StreamWrapper = Callable[[BinaryIO], BinaryIO]
"""Wraps the stream of a list, for example to keep a copy of it."""


class Sources:
    """The inputs of all sources. `inputs` can be iterated over once; then the figures are complete."""

    def __init__(self, sources: Sequence[_Source], params: Params, group: str) -> None:
        self.name = sources[0].name
        self.are_lists = [source.is_list for source in sources]
        """One entry per source."""
        self.inputs: Iterator[Input] = self._read(sources)
        self.good = 0
        """Distinct requests, not counting `duplicates` and `bad_count`."""
        self.duplicates = 0
        self.bad: list[BadLine] = []
        """The first BAD_KEPT bad lines."""
        self.bad_count = 0
        self.useless_list: str | None = None
        """The name of a list whose lines are all bad."""
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
            before, good, bad = line, self.good + self.duplicates, self.bad_count
            for place, text, problem, columns in source.entries:
                line = before + place
                if text or problem or not source.is_list:
                    found = self._input(line, text, problem)
                    found.columns = columns if found.target else safe_columns(columns, text, found.spelt)
                    yield found
            if source.is_list and self.bad_count > bad and self.good + self.duplicates == good:
                self.useless_list = source.name
        # The index of a long list takes many bytes and is no longer needed.
        self._lines.clear()

    def _input(self, line: int, text: str, problem: str | None) -> Input:
        try:
            wanted = self._target(text, problem)
        except InvalidURL as error:
            return self._refused(line, text, error.reason)
        first = self._lines.first_line(wanted.fingerprint, line)
        self.good += first == line
        self.duplicates += first != line
        return Input(line, spelt_safely(text, AUTHORITY_WITH_USER), wanted, None, first if first != line else None)

    def _target(self, text: str, problem: str | None) -> Target:
        if problem:
            raise InvalidURL(text, problem)
        url, wanted = input_target(text, self._params, self._group)
        if "@" in url and (credentials := credentials_of(url)):
            origin = origin_of(wanted.url)
            if self.credentials.setdefault(origin, credentials) != credentials:
                raise InvalidURL(text, "other_credentials")
        return wanted

    def _refused(self, line: int, text: str, reason: str) -> Input:
        # If parsing failed, nobody knows where a password ends: `https://ann:p/w@host/`.
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
    wrap: StreamWrapper = lambda stream: stream,
) -> Sources:
    """`words` must not be empty. `column` is a name in the CSV header row, or a number from 1 without a header."""
    if words.count("-") > 1:
        raise UsageError("standard input can be read only once: give - a single time")
    sources = [_source(word, column, stdin, wrap) for word in words]
    if column is not None and not any(source.is_list for source in sources):
        raise UsageError(f"--column {column} needs a list: give @FILE or -")
    return Sources(sources, params, group)


def expand_words(words: Sequence[str]) -> list[str]:
    """Words of a command with the ranges of their URLs expanded; a file may have braces in its name."""
    return [one for word in words for one in ([word] if _list_path(word) else expand_ranges(word))]


def given_urls(urls: Sequence[str | None], params: Params, group: str) -> Sources:
    """Treats each text as a URL, never as a file name: they may come from another machine.

    None stands for a line without a URL in the list that they come from.
    """
    first = next((url for url in urls if url is not None), None)
    if first is None:
        raise UsageError("there is no URL to start from: give one")
    entries: Iterator[Entry] = (Entry(place, bare(url)) for place, url in enumerate(urls, 1) if url is not None)
    return Sources([_Source(_name(bare(first)), entries, False)], params, group)


def empty_sources(params: Params, group: str) -> Sources:
    """For a job that gets its URLs later."""
    return Sources([_Source("crawl", iter(()), False)], params, group)


def seed_scope(listed: bool, asked: ScopeKind | None) -> ScopeKind:
    if asked is not None:
        return asked
    return ScopeKind.LISTED if listed else ScopeKind(DEFAULTS["scope"])


def _source(word: str, column: str | None, stdin: BinaryIO, wrap: StreamWrapper) -> _Source:
    def opened(stream: BinaryIO, shown: str) -> BinaryIO:
        # Imported here only: many crawls start from URLs.
        from shoal.spiders.sitemap_files import as_url_list

        return wrap(stream if column else as_url_list(stream, shown))

    if word == "-":
        return _Source("stdin", stream_entries(opened(stdin, _STDIN), column, _STDIN), True)
    path = _list_path(word)
    if path is not None:
        return _Source(path.stem, file_entries(path, column, opened), True)
    text = bare(word)
    check_is_no_file(text)
    return _Source(_name(text), iter([Entry(1, text)]), False)


def _list_path(word: str) -> Path | None:
    if word.startswith("@"):
        return Path(word[1:])
    if "://" in word:
        return None
    return Path(word) if _is_there(word) else None


def _is_there(word: str) -> bool:
    """A pipe counts as a file. A directory does not, because `wget` creates directories named like hosts."""
    try:
        return not stat.S_ISDIR(Path(word).stat().st_mode)
    except (OSError, ValueError):
        return False


def _name(text: str) -> str:
    try:
        return host_of(canonical(absolute(text)))
    except InvalidURL:
        return "crawl"


def input_target(text: str, params: Params, group: str) -> tuple[str, Target]:
    """The URL that a text stands for, and its request. Raises InvalidURL.

    Stricter than for links: a browser takes `http//host` for a host called `http`, and nobody has typed that.
    """
    url = absolute(text)
    wanted = target(url, params, group)
    host = _PORT.sub("", origin_of(wanted.url).partition("://")[2])
    if host in _SCHEMES:
        raise InvalidURL(text, "misspelt_scheme")
    if not host.startswith("[") and not all(map(_LABEL.fullmatch, host.removesuffix(".").split("."))):
        raise InvalidURL(text, "bad_host")
    return url, wanted


def absolute(text: str) -> str:
    """Completes a URL without a scheme. Raises InvalidURL for text that would parse but is not meant as a URL."""
    if len(text) >= LINE_CHARS:
        raise InvalidURL(text, "too_long")
    if _CONTROL.search(text):
        # The parser removes tabs and newlines. But here they separate two cells far more often than they break a URL.
        raise InvalidURL(text, "control_character")
    if _MISSPELT.match(text):
        raise InvalidURL(text, "misspelt_scheme")
    if _SCHEME.match(text):
        return text
    if text.startswith("//"):
        return f"https:{text}"
    if text.startswith(("/", "\\", ".")):
        raise InvalidURL(text, "malformed")
    if AUTHORITY_WITH_USER.match(text):
        # An e-mail address.
        raise InvalidURL(text, "not_http")
    if "," in (host := _HOST_END.split(text, 1)[0]):
        raise InvalidURL(text, "bad_host" if _DOT_AS_COMMA.fullmatch(host) else "cells")
    return f"https://{text}"
