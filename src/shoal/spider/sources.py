"""From the SOURCE words of a command to inputs, read as a stream: only a fingerprint per line is held.

A word is a URL, a list (`-`, `@FILE` or an existing file), or a URL without its scheme. Lines are numbered as if all
sources were one list. What cannot be read at all raises UsageError, before the first input where that can be known;
a line that is no URL is an input with a reason. No password stays in `spelt`.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import stat
import string
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO, cast

from shoal.errors import InvalidURL, UsageError
from shoal.model import Input, ScopeKind, Target
from shoal.urls import Params, canonical, credentials_of, host_of, target

SPELT_CHARS = 2_000
BAD_KEPT = 1_000
_LINE_CHARS = 1 << 20
"""What is held of one line: rows of CSV may carry whole texts, but not a file without line ends."""

_WORDS = {
    "malformed": "is not a URL",
    "not_http": "is not an http or https URL",
    "too_long": "is too long",
    "control_character": "holds a tab, NUL or other control character",
    "other_credentials": "has other credentials than an earlier URL of its origin",
    "no_column": "is in a row without that column",
    "empty": "is empty in this row",
    "not_csv": "is not CSV; a quotation mark may be missing",
}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9]+(?:[/?#\\]|\Z))")
"""Not the host of `localhost:8000`."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_AUTHORITY_WITH_USER = re.compile(r"\A((?:https?:)?[/\\]*)[^/\\?#]*@", re.IGNORECASE)
_ANYTHING_WITH_AT = re.compile(r"\A((?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]+)?.*@", re.DOTALL)
_RULES_OR_SPIDER = re.compile(r"(.+\.(?:ya?ml|json|py))(?::\w+)?", re.IGNORECASE)
_EDGES = string.whitespace + "\ufeff\N{NO-BREAK SPACE}"
"""Files joined by `cat` have byte order marks in their middle."""
_NOT_CONTROL = bytes(set(range(256)) - (set(range(32)) - set(b"\t\n\r\f\x1b")))

_Entry = tuple[int, str, str | None]
"""Place in its source, text (empty: nothing stands there), and what is wrong with it if that is known."""


class BadLine(NamedTuple):
    line: int
    spelt: str
    reason: str


class _Row(NamedTuple):
    place: int
    cells: list[str]
    problem: str | None = None


class _Source(NamedTuple):
    name: str
    entries: Iterator[_Entry]
    is_list: bool


class Sources:
    """What the words stand for. `inputs` can be read once; the figures are complete when it has been."""

    def __init__(self, sources: Sequence[_Source], params: Params, group: str) -> None:
        self.name = sources[0].name
        self.listed = any(source.is_list for source in sources)
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
        self._lines: dict[int, int] = {}

    def _read(self, sources: Sequence[_Source]) -> Iterator[Input]:
        line = 0
        for source in sources:
            before = line
            for place, text, problem in source.entries:
                line = before + place
                if text or problem or not source.is_list:
                    yield self._input(line, text, problem)

    def _input(self, line: int, text: str, problem: str | None) -> Input:
        try:
            wanted = self._target(text, problem)
        except InvalidURL as error:
            return self._refused(line, text, error.reason)
        first = self._lines.setdefault(wanted.fingerprint, line)
        self.good += first == line
        self.duplicates += first != line
        return Input(line, _spelt(text, _AUTHORITY_WITH_USER), wanted, None, first if first != line else None)

    def _target(self, text: str, problem: str | None) -> Target:
        if problem:
            raise InvalidURL(text, problem)
        url = _absolute(text)
        wanted = target(url, self._params, self._group)
        if "@" in url and (credentials := credentials_of(url)):
            origin = wanted.url[: wanted.url.index("/", len("https://"))]
            if self.credentials.setdefault(origin, credentials) != credentials:
                raise InvalidURL(text, "other_credentials")
        return wanted

    def _refused(self, line: int, text: str, reason: str) -> Input:
        # Where parsing failed nobody knows where a password ends: `https://ann:p/w@host/`.
        spelt = _spelt(text, _ANYTHING_WITH_AT)
        self.bad_count += 1
        if len(self.bad) < BAD_KEPT:
            self.bad.append(BadLine(line, spelt, reason))
        return Input(line, spelt, None, reason)


def read_sources(words: Sequence[str], params: Params, group: str, column: str | None, stdin: BinaryIO) -> Sources:
    """`words` holds at least one. `column` is a name in the header row of CSV, or a number from 1 without header."""
    if words.count("-") > 1:
        raise UsageError("standard input can be read only once: give - a single time")
    sources = [_source(word, column, stdin) for word in words]
    if column is not None and not any(source.is_list for source in sources):
        raise UsageError(f"--column {column} is for a list, and there is none: give @FILE or -")
    return Sources(sources, params, group)


def reason_words(reason: str) -> str:
    """For a person, to follow the line as its subject."""
    return _WORDS[reason]


def seed_scope(listed: bool, asked: ScopeKind | None) -> ScopeKind:
    if asked is not None:
        return asked
    return ScopeKind.LISTED if listed else ScopeKind.HOST


def _source(word: str, column: str | None, stdin: BinaryIO) -> _Source:
    if word == "-":
        shown = "standard input"
        return _Source("stdin", _begun(_lines(stdin, shown), column, shown), True)
    path = _list_path(word)
    if path is not None:
        shown = f"the list {str(path)!r}"
        return _Source(path.stem, _begun(_file_lines(path, shown), column, shown), True)
    text = _bare(word)
    return _Source(_name(text), iter([(1, text, None)]), False)


def _list_path(word: str) -> Path | None:
    if word.startswith("@"):
        return Path(word[1:])
    if "://" in word:
        return None
    _refuse_rules_and_spiders(word)
    return Path(word) if _is_there(word) else None


def _refuse_rules_and_spiders(word: str) -> None:
    named = _RULES_OR_SPIDER.fullmatch(word)
    if named and _is_there(named[1]):
        raise UsageError(
            f"{word!r} looks like a spider or rules, which this version cannot run yet. "
            f"Give URLs, or @{named[1]} if it is a list of them."
        )


def _is_there(word: str) -> bool:
    """A pipe counts as a file; a directory does not, for `wget` leaves some that are named like hosts."""
    try:
        return not stat.S_ISDIR(Path(word).stat().st_mode)
    except (OSError, ValueError):
        return False


def _name(text: str) -> str:
    try:
        return host_of(canonical(_absolute(text)))
    except InvalidURL:
        return "crawl"


def _absolute(text: str) -> str:
    """The URL that a spelling stands for. Raises InvalidURL for what a parser would take, but nobody means."""
    if len(text) >= _LINE_CHARS:
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
    if _AUTHORITY_WITH_USER.match(text):
        # An e-mail address.
        raise InvalidURL(text, "not_http")
    return f"https://{text}"


def _spelt(text: str, secret: re.Pattern[str]) -> str:
    return (secret.sub(r"\1***@", text) if "@" in text else text)[:SPELT_CHARS]


def _bare(text: str) -> str:
    text = text.strip(_EDGES)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].strip(_EDGES)
    return text


def _begun(lines: Iterator[str], column: str | None, shown: str) -> Iterator[_Entry]:
    """The entries of a list, of which the first is read now, so that most complaints come before any job is made."""
    entries = _plain(lines) if column is None else _cells(lines, column, shown)
    for entry in entries:
        if entry[1] or entry[2]:
            return chain([entry], entries)
    raise UsageError(f"{shown} holds no URL: write one per line")


def _plain(lines: Iterable[str]) -> Iterator[_Entry]:
    for place, line in enumerate(lines, 1):
        text = _bare(line)
        yield place, "" if text.startswith("#") else text, None


def _cells(lines: Iterator[str], column: str, shown: str) -> Iterator[_Entry]:
    rows = _rows(lines)
    # A header may begin like a comment: `#,url`.
    heads = (row for row in rows if row.problem or _says_something(row.cells) or column.casefold() in _names(row.cells))
    head = next(heads, None)
    if head is None:
        return
    if head.problem:
        raise UsageError(f"{shown} {reason_words(head.problem)} in line {head.place}")
    at = _column_at(head.cells, column, shown)
    for row in chain([head], rows) if column.isdecimal() else rows:
        yield row.place, *_cell(row, at)


def _column_at(head: list[str], column: str, shown: str) -> int:
    names = [str(number) for number in range(1, len(head) + 1)] if column.isdecimal() else _names(head)
    if column.casefold() not in names:
        raise UsageError(f"{shown} has no column {column!r}. It has {_described(head)}.")
    return names.index(column.casefold())


def _rows(lines: Iterator[str]) -> Iterator[_Row]:
    reader = csv.reader(lines)
    while True:
        # A quoted cell may go over several lines; the row stands where it begins.
        place = reader.line_num + 1
        try:
            cells = next(reader)
        except csv.Error:
            yield _Row(place, [], "not_csv")
        except StopIteration:
            return
        else:
            yield _Row(place, cells)


def _cell(row: _Row, at: int) -> tuple[str, str | None]:
    if row.problem or not _says_something(row.cells):
        return "", row.problem
    if at >= len(row.cells):
        return "", "no_column"
    text = _bare(row.cells[at])
    return text, None if text else "empty"


def _says_something(row: list[str]) -> bool:
    return any(map(_bare, row)) and not _bare(row[0]).startswith("#")


def _names(row: list[str]) -> list[str]:
    return [_bare(cell).casefold() for cell in row]


def _described(row: list[str]) -> str:
    # Without a header row these are data, and may hold passwords.
    names = [repr(_spelt(_bare(cell), _ANYTHING_WITH_AT)[:40]) for cell in row[:20]]
    return f"{len(row)}: {', '.join(names)}{', …' if len(row) > len(names) else ''}"


def _file_lines(path: Path, shown: str) -> Iterator[str]:
    try:
        stream = path.open("rb")
    except OSError as error:
        raise _unreadable(shown, error) from None
    with stream:
        yield from _lines(stream, shown)


def _lines(stream: BinaryIO, shown: str) -> Iterator[str]:
    """Lines of any text, and of one that is too long to be held, its beginning."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream))
    try:
        text = io.TextIOWrapper(buffered, _encoding(buffered.peek(), shown), errors=_LATIN_1)
        try:
            yield from _bounded_lines(text)
        finally:
            # Otherwise the wrapper would close a stream that is not ours, unless its owner already has.
            if not buffered.closed:
                text.detach()
    except OSError as error:
        raise _unreadable(shown, error) from None


def _bounded_lines(text: TextIO) -> Iterator[str]:
    while line := text.readline(_LINE_CHARS):
        yield line
        while len(line) == _LINE_CHARS and not line.endswith("\n"):
            line = text.readline(_LINE_CHARS)


def _encoding(head: bytes, shown: str) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # A stray NUL spoils its line only; of compressed or compiled bytes about one in nine is a control character.
    if len(head.translate(None, _NOT_CONTROL)) * 16 > len(head):
        raise UsageError(f"{shown} is not text: unpack it or export it as UTF-8 text or CSV, one URL per line")
    return "utf-8-sig"


def _unreadable(shown: str, error: OSError) -> UsageError:
    return UsageError(f"{shown} cannot be read: {error.strerror}. Give a readable file with one URL per line.")


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


_LATIN_1 = "shoal.latin_1"
codecs.register_error(_LATIN_1, _as_latin_1)
