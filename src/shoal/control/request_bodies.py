"""Reads request bodies. A JSON body is kept in memory, but all of them together stay within a limit, and a client that
sends slowly does not hold a thread that others need.

The weight of a body is the memory that it needs when it is parsed and then refused; small bodies are always accepted.
Python stores a string with as many bytes per character as its widest character needs: one emoji makes a long string
four times as long. Which string of a body has it is not known before parsing, so it counts for all of them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, cast

from flask import current_app, request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from shoal.control.problems import RETRY_S, Problem
from shoal.control.request_deadline import KEY, Deadline
from shoal.control.thread_slots import slot

JSON_BYTES = 64 << 20
HELD_BYTES = 768 << 20
"""The limit for the weight of all bodies in a process."""
SMALL_BYTES = 64 << 10
PIECE = 1 << 18
FIELDS = 20_000
"""Each field may be unknown, and an error message about it takes a kilobyte."""
_VALUE_WEIGHT = 128
"""Measured: a list of short strings takes 50 bytes for each, one of empty lists 100, an object 230 for each field."""
_ASCII, _WIDE, _WIDEST = 3, 5, 8
"""Measured, per byte: the body, its string in Python, and the copies if it is the name of an unknown field."""
_WIDEST_CHARACTERS = [bytes([first]) for first in range(0xF0, 0xF5)]
_WIDEST_ESCAPES = (rb"\ud", rb"\uD")
_FIELD = re.compile(rb'"[ \t\r\n]*:')
NAME = "shoal-bodies"


class HeldBytes:
    """The weight of all bodies in a process."""

    def __init__(self) -> None:
        self._bytes = 0
        self._lock = threading.Lock()

    def change(self, weight: int) -> None:
        """Adds a weight, which may be negative. Raises a Problem at the limit."""
        with self._lock:
            if weight > 0 and self._bytes + weight > HELD_BYTES:
                detail = "too much data is being received at the moment: try again later"
                raise Problem(503, detail, headers={"Retry-After": str(RETRY_S)})
            self._bytes += weight


class _Load:
    """The weight of one body."""

    def __init__(self, held: HeldBytes) -> None:
        self._held = held
        self._weight = 0
        self._length = 0
        self._byte_weight = _ASCII

    def add_piece(self, piece: bytes | bytearray) -> None:
        """Raises a Problem if there is no room now, or the body is too large."""
        self.widen(piece)
        self._length += len(piece)
        self.add(self._byte_weight * len(piece))

    def widen(self, data: bytes | bytearray) -> None:
        """Increases the weight of all bytes so far if these bytes contain wider characters. Raises like `add_piece`."""
        heavier = max(0, _byte_weight(data) - self._byte_weight)
        self.add(heavier * self._length)
        self._byte_weight += heavier

    def add(self, weight: int) -> None:
        """Raises like `add_piece`."""
        if self._weight + weight > HELD_BYTES:
            raise Problem(413, "the body has too many values: send fewer at once, or send URLs as a stream of lines")
        self._held.change(weight)
        self._weight += weight

    def release(self) -> None:
        self._held.change(-self._weight)


def _byte_weight(data: bytes | bytearray) -> int:
    # Searching one byte is a hundred times faster than searching two.
    escapes = _WIDEST_ESCAPES if b"\\" in data else ()
    if any(wide in data for wide in (*_WIDEST_CHARACTERS, *escapes)):
        return _WIDEST
    return _WIDE if not data.isascii() or (escapes and rb"\u" in data) else _ASCII


def register(extensions: dict[str, Any]) -> None:
    extensions[NAME] = HeldBytes()


@contextmanager
def whole_body() -> Iterator[bytearray]:
    """The request's body, which counts until the end of the block. Raises a Problem if it cannot be received."""
    load = _Load(cast(HeldBytes, current_app.extensions[NAME]))
    try:
        data = _read(load)
        if len(data) > SMALL_BYTES:
            # An escape may have been split between two pieces.
            load.widen(data)
            load.add(_VALUE_WEIGHT * _count_values(data))
            _check_fields(data)
        yield data
    finally:
        load.release()


def _count_values(data: bytearray) -> int:
    return sum(map(data.count, (b",", b"[", b"{", b":"))) - data.count(b"://")


def _check_fields(data: bytearray) -> None:
    found = sum(1 for _ in islice(_FIELD.finditer(data), FIELDS + 1))
    if found > FIELDS:
        raise Problem(413, f"the body has more than {FIELDS:,} fields: send less at once")


def _read(load: _Load) -> bytearray:
    data = bytearray()
    deadline: Deadline | None = request.environ.get(KEY)
    with slot() as may_drip:
        if deadline is not None:
            deadline.expect_body(request.content_length or 0, may_drip)
        while piece := received(request.stream.read, PIECE):
            was_small = len(data) <= SMALL_BYTES
            data += piece
            if len(data) > SMALL_BYTES:
                load.add_piece(data if was_small else piece)
        if deadline is not None:
            deadline.expect_nothing()
    if len(data) >= JSON_BYTES:
        # A body without Content-Length is cut off there.
        raise RequestEntityTooLarge()
    check_whole(len(data))
    return data


def received(read: Callable[[int], bytes], size: int, lost: str = "") -> bytes:
    """The next piece of the body. Raises a Problem if the body ends early; `lost` says what happened to the rest."""
    try:
        return read(size)
    except (OSError, ClientDisconnected) as error:
        raise _broken_off(lost, isinstance(error.__context__, TimeoutError)) from error


def check_whole(length: int, lost: str = "") -> None:
    """Raises a Problem if a body that has ended is shorter than its Content-Length."""
    if length < (request.content_length or 0):
        raise _broken_off(lost, was_silent=False)


def _broken_off(lost: str, was_silent: bool) -> Problem:
    deadline: Deadline | None = request.environ.get(KEY)
    if was_silent or (deadline is not None and deadline.is_overdue):
        return Problem(408, f"the body arrived too slowly{lost}")
    return Problem(400, f"the body ended early{lost}")
