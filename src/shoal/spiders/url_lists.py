"""Reads lists of URLs: lines, CSV or JSON lines, with byte order marks, comments, and other oddities of such files.

Lists are read as streams; a line of any length takes bounded memory. An unreadable list raises UsageError.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO, cast

from shoal.errors import UsageError

SPELT_CHARS = 2_000
MOST_COLUMNS = 50
COLUMN_CHARS = 1_000
"""Longer cells are cut: rows are stored, and travel with the requests that they lead to."""
CELL_CHARS = 128 * 1024
LINE_CHARS = 1 << 20
"""Limit for one line: CSV rows may contain long texts, but a file may have no line ends at all."""
_HEADER_WITHIN = 20
"""Lines, with comments before the header."""
ROW_CHARS = 2 * LINE_CHARS
"""Limit for one CSV row, which may span many lines."""

_WORDS = {
    "malformed": "is not a URL",
    "not_http": "is not an http or https URL",
    "misspelt_scheme": "has a misspelt scheme: write http:// or https://",
    "bad_host": "has a host name that cannot exist: is it a typing error?",
    "too_long": "is too long",
    "control_character": "contains a tab, NUL or other control character",
    "other_credentials": "has other credentials than an earlier URL of its origin",
    "new_credentials": "has a password; give passwords when you submit the job",
    "not_json": "is neither a JSON string nor an object with a url",
    "cells": "is a row of CSV: name the column with the URLs, --column NAME",
    "header": "looks like a column name: for a CSV give --column NAME",
    "no_column": "is in a row without that column",
    "empty": "is empty in this row",
    "not_csv": "is not CSV; a quotation mark may be missing",
}
ANYTHING_WITH_AT = re.compile(r"\A((?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]+)?.*@", re.DOTALL)
AUTHORITY_WITH_USER = re.compile(r"\A((?:https?:)?[/\\]*)[^/\\?#]*@", re.IGNORECASE)
_HALF_PAIR = re.compile(r"[\ud800-\udfff]")
_EDGES = string.whitespace + "\ufeff\N{NO-BREAK SPACE}"
"""Files joined by `cat` have byte order marks in the middle."""
_COMMENT = re.compile(r"\s#.*", re.DOTALL)
"""Behind a URL. Its own fragment has no blank before it."""
_WORDS_ALONE = re.compile(r"[\w -]+")
_NOT_CONTROL = bytes(set(range(256)) - (set(range(32)) - set(b"\t\n\r\f\x1b")))


class Entry(NamedTuple):
    line: int
    text: str
    """Empty: a blank line."""
    problem: str | None = None
    """Why the entry is known to be bad."""
    columns: Mapping[str, str] | None = None
    """The whole row, if the list has columns."""


class _Row(NamedTuple):
    place: int
    cells: list[str]
    problem: str | None = None


def reason_words(reason: str) -> str:
    """The reason as a predicate; the line is its subject."""
    return _WORDS[reason]


def spelt_safely(text: str, secret: re.Pattern[str]) -> str:
    return (secret.sub(r"\1***@", text) if "@" in text else text)[:SPELT_CHARS]


def safe_columns(columns: Mapping[str, str] | None, text: str, spelt: str) -> Mapping[str, str] | None:
    """The row of an input that was refused. Its URL is as in `spelt`, without anything that may be a password."""
    if columns is None:
        return None
    url = _without_password(text)[:COLUMN_CHARS]
    return {name: spelt[:COLUMN_CHARS] if value == url else value for name, value in columns.items()}


def bare(text: str) -> str:
    text = text.strip(_EDGES)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].strip(_EDGES)
    return text


def stream_entries(stream: BinaryIO, column: str | None, shown: str) -> Iterator[Entry]:
    return _check_first(text_lines(stream, shown), column, shown)


def file_entries(path: Path, column: str | None, wrap: Callable[[BinaryIO, str], BinaryIO]) -> Iterator[Entry]:
    shown = f"the list {str(path)!r}"
    return _check_first(_file_lines(path, shown, wrap), column, shown)


def _check_first(lines: Iterator[str], column: str | None, shown: str) -> Iterator[Entry]:
    """Reads the first entry now, so that most errors are raised before a job is created."""
    entries = _entries(lines, column, shown)
    for entry in entries:
        if entry.text or entry.problem:
            return chain([entry], entries)
    raise UsageError(f"{shown} contains no URL: write one per line")


def _entries(lines: Iterator[str], column: str | None, shown: str) -> Iterator[Entry]:
    """Plain lines, CSV if a column is named, or JSON lines: no URL and no row of CSV begins with a brace."""
    before: list[str] = []
    for line in lines:
        before.append(line)
        if bare(line)[:1] not in ("", "#"):
            break
    everything = chain(before, lines)
    if before and bare(before[-1]).startswith("{"):
        return json_entries(everything, column or "url")
    return _plain(everything) if column is None else _cells(everything, column, shown)


def _plain(lines: Iterable[str]) -> Iterator[Entry]:
    for place, line in enumerate(lines, 1):
        text = bare(line)
        yield Entry(place, "" if text.startswith("#") else bare(_COMMENT.sub("", text)))


def json_entries(lines: Iterable[str], key: str) -> Iterator[Entry]:
    """JSON lines: each a string, or an object with a URL under this key."""
    for place, line in enumerate(lines, 1):
        yield _json_entry(place, line.strip(_EDGES), key)


def _json_entry(place: int, line: str, key: str) -> Entry:
    try:
        value = json.loads(line) if line and not line.startswith("#") else ""
    except (ValueError, RecursionError):
        return Entry(place, line, "not_json")
    url = value.get(key) if isinstance(value, dict) else value
    # JSON can escape half of a surrogate pair, which is not valid text.
    if not isinstance(url, str) or _HALF_PAIR.search(url):
        return Entry(place, line, "not_json")
    if not isinstance(value, dict):
        return Entry(place, bare(url))
    others = {name: each if isinstance(each, str) else json.dumps(each) for name, each in value.items()}
    return Entry(place, bare(url), None, _columns({**others, key: _without_password(url)}))


def _columns(row: Mapping[str, str]) -> dict[str, str]:
    return {name: value[:COLUMN_CHARS] for name, value in islice(row.items(), MOST_COLUMNS)}


def _without_password(url: str) -> str:
    return spelt_safely(bare(url), AUTHORITY_WITH_USER)


def _cells(lines: Iterator[str], column: str, shown: str) -> Iterator[Entry]:
    rows = _rows(lines)
    # A header may begin like a comment: `#,url`.
    heads = (row for row in rows if row.problem or _has_content(row.cells) or column.casefold() in _names(row.cells))
    head = next(heads, None)
    if head is None:
        return
    if head.problem:
        raise UsageError(f"{shown} {reason_words(head.problem)} in line {head.place}")
    at = _column_at(head.cells, column, shown)
    names = list(map(bare, head.cells))
    if column.isdecimal():
        text, problem = _first_cell(head, at)
        if problem == "header":
            yield Entry(head.place, text, problem)
        else:
            names = [str(number) for number in range(1, len(head.cells) + 1)]
            yield Entry(head.place, text, problem, _row_columns(names, head, at))
    for row in rows:
        yield Entry(row.place, *_cell(row, at), _row_columns(names, row, at))


def _row_columns(names: list[str], row: _Row, at: int) -> dict[str, str]:
    found = enumerate(zip(names, row.cells, strict=False))
    return _columns({name: _without_password(cell) if place == at else cell for place, (name, cell) in found})


def _first_cell(row: _Row, at: int) -> tuple[str, str | None]:
    """If the column is given by number, the list may or may not have a header."""
    text, problem = _cell(row, at)
    return text, problem or ("header" if _WORDS_ALONE.fullmatch(text) and text != "localhost" else None)


def _column_at(head: list[str], column: str, shown: str) -> int:
    names = [str(number) for number in range(1, len(head) + 1)] if column.isdecimal() else _names(head)
    if column.casefold() not in names:
        raise UsageError(f"{shown} has no column {column!r}. It has {_described(head)}.")
    return names.index(column.casefold())


def _rows(lines: Iterator[str]) -> Iterator[_Row]:
    # The limit holds for the whole process, and other libraries raise it: then an unclosed quotation mark would
    # read a file of any size into one cell.
    csv.field_size_limit(CELL_CHARS)
    first = list(islice(lines, _HEADER_WITHIN))
    bounded = _RowLines(chain(first, lines))
    reader = csv.reader(bounded, delimiter=_delimiter(first))
    while True:
        # A quoted cell may span several lines; the row's number is that of its first line.
        place = bounded.begin_row()
        try:
            cells = next(reader)
        except csv.Error:
            yield _Row(place, [], "not_csv")
        except StopIteration:
            return
        else:
            yield _Row(place, cells)


def _delimiter(lines: list[str]) -> str:
    """By the header: spreadsheets of many countries write semicolons. A line with a URL is no header."""
    header = next((line for line in lines if line.strip() and not line.startswith("# ")), "")
    if "," in header or "://" in header:
        return ","
    return next((sign for sign in (";", "\t", "|") if sign in header), ",")


class _RowLines:
    """The lines of a CSV file. A quoted cell may contain line ends, so a row could be endless: one that is too long
    raises csv.Error."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._read = self._chars = 0

    def begin_row(self) -> int:
        """Returns the number of the row's first line."""
        self._chars = 0
        return self._read + 1

    def __iter__(self) -> _RowLines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._read += 1
        self._chars += len(line)
        if self._chars > ROW_CHARS:
            raise csv.Error("the row is too long")
        return line


def _cell(row: _Row, at: int) -> tuple[str, str | None]:
    if row.problem or not _has_content(row.cells):
        return "", row.problem
    if at >= len(row.cells):
        return "", "no_column"
    text = bare(row.cells[at])
    return text, None if text else "empty"


def _has_content(row: list[str]) -> bool:
    return any(map(bare, row)) and not bare(row[0]).startswith("#")


def _names(row: list[str]) -> list[str]:
    return [bare(cell).casefold() for cell in row]


def _described(row: list[str]) -> str:
    # Without a header row these are data, and may contain passwords.
    names = [repr(spelt_safely(bare(cell), ANYTHING_WITH_AT)[:40]) for cell in row[:20]]
    return f"{len(row)}: {', '.join(names)}{', …' if len(row) > len(names) else ''}"


def _file_lines(path: Path, shown: str, wrap: Callable[[BinaryIO, str], BinaryIO]) -> Iterator[str]:
    try:
        stream = path.open("rb")
    except OSError as error:
        raise _unreadable(shown, error) from None
    with stream:
        yield from text_lines(wrap(stream, shown), shown)


def text_lines(stream: BinaryIO, shown: str) -> Iterator[str]:
    """The lines of any text; cuts lines that are too long."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream))
    try:
        text = io.TextIOWrapper(buffered, _encoding(buffered.peek(), shown), errors=_LATIN_1)
        try:
            yield from _bounded_lines(text)
        finally:
            # Otherwise the wrapper would close a stream that we do not own, unless its owner already has.
            if not buffered.closed:
                text.detach()
    except OSError as error:
        raise _unreadable(shown, error) from None


def _bounded_lines(text: TextIO) -> Iterator[str]:
    while line := text.readline(LINE_CHARS):
        yield line
        while len(line) == LINE_CHARS and not line.endswith("\n"):
            line = text.readline(LINE_CHARS)


def _encoding(head: bytes, shown: str) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # A stray NUL spoils only its line; in compressed or compiled data about one byte in nine is a control character.
    if len(head.translate(None, _NOT_CONTROL)) * 16 > len(head):
        raise UsageError(f"{shown} is not text: decompress it, or export it as UTF-8 text or CSV, one URL per line")
    return "utf-8-sig"


def _unreadable(shown: str, error: OSError) -> UsageError:
    return UsageError(f"{shown} cannot be read: {error.strerror}. Give a readable file with one URL per line.")


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


_LATIN_1 = "shoal.latin_1"
codecs.register_error(_LATIN_1, _as_latin_1)
