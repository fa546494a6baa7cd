"""Deadlines for what a client sends. After a deadline the server stops reading from the client, so that the thread
that waits for the body sees its end."""

from __future__ import annotations

import io
import socket
import time
from dataclasses import dataclass
from typing import Any

KEY = "shoal.deadline"
"""The key of the Deadline in the WSGI environment."""
PIECE = 1 << 16
_BYTES_PER_BODY_S = 8 << 20

Due = dict[socket.socket, float]
"""By the monotonic clock."""


@dataclass(frozen=True, slots=True)
class DeadlineSettings:
    head_s: float = 7.0
    """For the head of a request, from its first byte."""
    body_s: float = 60.0
    """For a JSON body, and as much again for every 8 MB of it."""
    hurried_s: float = 2.0
    """For a body of any length, while no thread slot is free for slow clients."""
    piece_s: float = 300.0
    """For every piece of a stream; the whole stream has no deadline."""
    silent_s: float = 60.0
    """How long a client may send nothing while data is expected, or take to read a piece of the response."""


class Deadline:
    """The deadline of one request."""

    def __init__(self, sock: socket.socket, due: Due, times: DeadlineSettings) -> None:
        self._sock, self._due, self._times = sock, due, times
        self._due_at = float("inf")

    def expect_body(self, length: int, may_drip: bool) -> None:
        scaled_s = self._times.body_s * (1 + length / _BYTES_PER_BODY_S)
        self._expect(scaled_s if may_drip else self._times.hurried_s)

    def expect_piece(self) -> None:
        self._expect(self._times.piece_s)

    def expect_nothing(self) -> None:
        self._due.pop(self._sock, None)
        if not self.is_overdue:
            self._due_at = float("inf")

    @property
    def is_overdue(self) -> bool:
        """Stays true once it is."""
        return time.monotonic() > self._due_at

    def _expect(self, within_s: float) -> None:
        if not self.is_overdue:
            self._due_at = self._due[self._sock] = time.monotonic() + within_s


class TimedStream(io.RawIOBase):
    """A streamed request body: each piece has a deadline, but the work between pieces has none."""

    def __init__(self, body: Any, deadline: Deadline) -> None:
        self._body, self._deadline = body, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._deadline.expect_piece()
        try:
            some = self._body.read(min(len(buffer), PIECE))
        finally:
            self._deadline.expect_nothing()
        buffer[: len(some)] = some
        return len(some)
