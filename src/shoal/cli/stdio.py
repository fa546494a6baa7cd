"""Handles stdin, stdout and stderr that are closed at the start, or whose reader goes away."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import BinaryIO, TextIO

_replaced: list[TextIO] = []
_erase_live_line: list[Callable[[], None]] = []
"""At most one: a terminal has one live line."""


def open_closed_streams() -> None:
    """Opens the null device for closed streams: after `>&-` the next opened file would get the stream's number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - for as long as the process runs


def data_stdout() -> TextIO:
    """The stdout of the command, also while `prints_to_stderr`."""
    return _replaced[-1] if _replaced else sys.stdout


@contextmanager
def prints_to_stderr() -> Iterator[None]:
    """What a spider prints goes to stderr: stdout is for data."""
    _replaced.append(data_stdout())
    try:
        with redirect_stdout(_AboveLiveLine(sys.stderr) if sys.stderr.isatty() else sys.stderr):
            yield
    finally:
        _replaced.pop()


def set_live_line(erase: Callable[[], None] | None) -> None:
    """Says how to erase the live line that is on stderr now, before anything is printed; None: there is none."""
    _erase_live_line[:] = [] if erase is None else [erase]


class _AboveLiveLine(io.TextIOBase):
    """Stderr for prints: they begin on a line of their own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        for erase in _erase_live_line:
            erase()
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        """Stays open: the command still writes to stderr."""

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    @property
    def buffer(self) -> BinaryIO:
        return self._stream.buffer


def discard_output() -> None:
    """Sends buffered output to the null device: Python would fail again to write it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), data_stdout().fileno())


@contextmanager
def until_reader_leaves() -> Iterator[None]:
    """Returns quietly when the reader of stdout goes away, as `head` does; further output is dropped."""
    try:
        yield
    except BrokenPipeError:
        discard_output()
