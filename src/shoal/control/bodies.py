"""Bodies as they are received: JSON is held whole, but all of it together never takes more memory than a process has,
and nobody who sends slowly holds a thread that others need.

A body's weight is what it takes when it is parsed; what is small has always room.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from flask import current_app, request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from shoal.control.deadline import KEY, Deadline
from shoal.control.problems import RETRY_S, Problem
from shoal.control.slots import slot

JSON_BYTES = 64 << 20
HELD_BYTES = 768 << 20
"""The weight of all bodies of a process."""
SMALL_BYTES = 64 << 10
PIECE = 1 << 18
_BYTE_WEIGHT, _VALUE_WEIGHT = 2, 128
"""Measured: a list of URLs takes four times its bytes, one of short strings or of empty lists twenty times."""
_NAME = "shoal-bodies"


class Held:
    """What the bodies of a process weigh."""

    def __init__(self) -> None:
        self._bytes = 0
        self._lock = threading.Lock()

    def change(self, weight: int) -> None:
        """Raises a Problem if there is no room for so much more."""
        with self._lock:
            if weight > 0 and self._bytes + weight > HELD_BYTES:
                detail = "as much is being read as this process has memory for: try again"
                raise Problem(503, detail, headers={"Retry-After": str(RETRY_S)})
            self._bytes += weight


class _Load:
    """One body's part of it."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._weight = 0

    def add(self, weight: int) -> None:
        """Raises a Problem if there is no room, now or ever."""
        if self._weight + weight > HELD_BYTES:
            raise Problem(413, "the body holds too many values: send fewer at once, or URLs as a stream of lines")
        self._held.change(weight)
        self._weight += weight

    def take_off(self) -> None:
        self._held.change(-self._weight)


def register(extensions: dict[str, Any]) -> None:
    extensions[_NAME] = Held()


@contextmanager
def whole_body() -> Iterator[bytearray]:
    """The request's body, which weighs until the end of the block. Raises a Problem for one that cannot be had."""
    load = _Load(cast(Held, current_app.extensions[_NAME]))
    try:
        data = _read(load)
        if len(data) > SMALL_BYTES:
            load.add(_VALUE_WEIGHT * sum(map(data.count, (b",", b"[", b"{"))))
        yield data
    finally:
        load.take_off()


def _read(load: _Load) -> bytearray:
    data = bytearray()
    deadline: Deadline | None = request.environ.get(KEY)
    with slot() as may_drip:
        if deadline is not None:
            deadline.expect_body(request.content_length or 0, may_drip)
        while piece := received(request.stream.read, PIECE):
            data += piece
            if len(data) > SMALL_BYTES:
                load.add(_BYTE_WEIGHT * len(piece))
        if deadline is not None:
            deadline.expect_nothing()
    if len(data) >= JSON_BYTES:
        # One that did not tell its length is cut there.
        raise RequestEntityTooLarge()
    check_whole(len(data))
    return data


def received(read: Callable[[int], bytes], size: int, lost: str = "") -> bytes:
    """The next piece of the body. Raises a Problem if it broke off; `lost` says what became of what had come."""
    try:
        return read(size)
    except (OSError, ClientDisconnected) as error:
        raise _broken_off(lost, isinstance(error.__context__, TimeoutError)) from error


def check_whole(come: int, lost: str = "") -> None:
    """Whether all that was announced has come, of a body that has ended. Raises a Problem."""
    if come < (request.content_length or 0):
        raise _broken_off(lost, was_silent=False)


def _broken_off(lost: str, was_silent: bool) -> Problem:
    deadline: Deadline | None = request.environ.get(KEY)
    if was_silent or (deadline is not None and deadline.is_overdue):
        return Problem(408, f"the body came too slowly{lost}")
    return Problem(400, f"the body broke off{lost}")
