"""The entries of a list of URLs: lines or CSV, with byte order marks, comments and whatever else such files hold.

Read as a stream; a line of any length costs bounded memory. What cannot be read at all raises UsageError.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import string
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO, cast

from shoal.errors import UsageError

SPELT_CHARS = 2_000
CELL_CHARS = 128 * 1024
LINE_CHARS = 1 << 20
"""What is held of one line: rows of CSV may carry whole texts, but not a file without line ends."""
ROW_CHARS = 2 * LINE_CHARS
"""Of one row of CSV, which may go over many lines."""

_WORDS = {
    "malformed": "is not a URL",
    "not_http": "is not an http or https URL",
    "too_long": "is too long",
    "control_character": "holds a tab, NUL or other control character",
    "other_credentials": "has other credentials than an earlier URL of its origin",
    "new_credentials": "has a password, and a job is given those when it is submitted",
    "not_json": "is neither a JSON string nor an object with a url",
    "cells": "is a row of CSV: give the column that has the URLs",
    "header": "is taken for the name of its column",
    "no_column": "is in a row without that column",
    "empty": "is empty in this row",
    "not_csv": "is not CSV; a quotation mark may be missing",
}
ANYTHING_WITH_AT = re.compile(r"\A((?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]+)?.*@", re.DOTALL)
_EDGES = string.whitespace + "\ufeff\N{NO-BREAK SPACE}"
"""Files joined by `cat` have byte order marks in their middle."""
_WORDS_ALONE = re.compile(r"[\w -]+")
_NOT_CONTROL = bytes(set(range(256)) - (set(range(32)) - set(b"\t\n\r\f\x1b")))


Entry = tuple[int, str, str | None]
"""Place in its source, text (empty: nothing stands there), and what is wrong with it if that is known."""


class _Row(NamedTuple):
    place: int
    cells: list[str]
    problem: str | None = None


def reason_words(reason: str) -> str:
    """For a person, to follow the line as its subject."""
    return _WORDS[reason]


def spelt_safely(text: str, secret: re.Pattern[str]) -> str:
    return (secret.sub(r"\1***@", text) if "@" in text else text)[:SPELT_CHARS]


def bare(text: str) -> str:
    text = text.strip(_EDGES)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].strip(_EDGES)
    return text


def stream_entries(stream: BinaryIO, column: str | None, shown: str) -> Iterator[Entry]:
    return _begun(text_lines(stream, shown), column, shown)


def file_entries(path: Path, column: str | None, passed: Callable[[BinaryIO], BinaryIO]) -> Iterator[Entry]:
    shown = f"the list {str(path)!r}"
    return _begun(_file_lines(path, shown, passed), column, shown)


def _begun(lines: Iterator[str], column: str | None, shown: str) -> Iterator[Entry]:
    """The entries of a list, of which the first is read now, so that most complaints come before any job is made."""
    entries = _plain(lines) if column is None else _cells(lines, column, shown)
    for entry in entries:
        if entry[1] or entry[2]:
            return chain([entry], entries)
    raise UsageError(f"{shown} holds no URL: write one per line")


def _plain(lines: Iterable[str]) -> Iterator[Entry]:
    for place, line in enumerate(lines, 1):
        text = bare(line)
        yield place, "" if text.startswith("#") else text, None


def _cells(lines: Iterator[str], column: str, shown: str) -> Iterator[Entry]:
    rows = _rows(lines)
    # A header may begin like a comment: `#,url`.
    heads = (row for row in rows if row.problem or _says_something(row.cells) or column.casefold() in _names(row.cells))
    head = next(heads, None)
    if head is None:
        return
    if head.problem:
        raise UsageError(f"{shown} {reason_words(head.problem)} in line {head.place}")
    at = _column_at(head.cells, column, shown)
    if column.isdecimal():
        yield head.place, *_first_cell(head, at)
    for row in rows:
        yield row.place, *_cell(row, at)


def _first_cell(row: _Row, at: int) -> tuple[str, str | None]:
    """Nobody says whether a list whose column is given by its number has a header."""
    text, problem = _cell(row, at)
    return text, problem or ("header" if _WORDS_ALONE.fullmatch(text) and text != "localhost" else None)


def _column_at(head: list[str], column: str, shown: str) -> int:
    names = [str(number) for number in range(1, len(head) + 1)] if column.isdecimal() else _names(head)
    if column.casefold() not in names:
        raise UsageError(f"{shown} has no column {column!r}. It has {_described(head)}.")
    return names.index(column.casefold())


def _rows(lines: Iterator[str]) -> Iterator[_Row]:
    # The limit belongs to the whole process, and other libraries lift it: a quotation mark that is never closed would
    # then swallow a file of any size.
    csv.field_size_limit(CELL_CHARS)
    bounded = _RowLines(lines)
    reader = csv.reader(bounded)
    while True:
        # A quoted cell may go over several lines; the row stands where it begins.
        place = bounded.begin_row()
        try:
            cells = next(reader)
        except csv.Error:
            yield _Row(place, [], "not_csv")
        except StopIteration:
            return
        else:
            yield _Row(place, cells)


class _RowLines:
    """The lines of a file of CSV. Each cell of a row may hold a line end, so that a row could go on for ever: one that
    is too long raises csv.Error."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._read = self._chars = 0

    def begin_row(self) -> int:
        """The number of the line where it begins."""
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
    if row.problem or not _says_something(row.cells):
        return "", row.problem
    if at >= len(row.cells):
        return "", "no_column"
    text = bare(row.cells[at])
    return text, None if text else "empty"


def _says_something(row: list[str]) -> bool:
    return any(map(bare, row)) and not bare(row[0]).startswith("#")


def _names(row: list[str]) -> list[str]:
    return [bare(cell).casefold() for cell in row]


def _described(row: list[str]) -> str:
    # Without a header row these are data, and may hold passwords.
    names = [repr(spelt_safely(bare(cell), ANYTHING_WITH_AT)[:40]) for cell in row[:20]]
    return f"{len(row)}: {', '.join(names)}{', …' if len(row) > len(names) else ''}"


def _file_lines(path: Path, shown: str, passed: Callable[[BinaryIO], BinaryIO]) -> Iterator[str]:
    try:
        stream = path.open("rb")
    except OSError as error:
        raise _unreadable(shown, error) from None
    with stream:
        yield from text_lines(passed(stream), shown)


def text_lines(stream: BinaryIO, shown: str) -> Iterator[str]:
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
    while line := text.readline(LINE_CHARS):
        yield line
        while len(line) == LINE_CHARS and not line.endswith("\n"):
            line = text.readline(LINE_CHARS)


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
