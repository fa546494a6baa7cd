"""A client's socket that accepts a whole response at once: it buffers what the client has not read, and the worker's
loop sends it later. So no thread waits for a client that reads slowly.

Streams of any length are not buffered; they hold a thread slot instead.
"""

from __future__ import annotations

import socket
import threading
from typing import Any

STREAMS = "shoal.streams"
"""Set in the environment of a request whose answer is a stream."""
UNSENT_BYTES = 64 << 20
"""The buffer limit for all responses of a process. Beyond it a thread waits for a short while."""
HURRIED_S = 2.0


class UnsentBytes:
    """Counts the buffered bytes of all clients of a process."""

    def __init__(self) -> None:
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, number: int) -> bool:
        """Returns False if there is no room."""
        with self._lock:
            if number > 0 and self._bytes + number > UNSENT_BYTES:
                return False
            self._bytes += number
            return True


class ResponseSocket(socket.socket):
    streams = False
    """Whether the current response is a stream."""

    def __init__(self, accepted: socket.socket, unsent: UnsentBytes) -> None:
        super().__init__(fileno=accepted.detach())
        self._all_unsent = unsent
        self._unsent = bytearray()

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Raises OSError if there is no room in the buffer and the client does not read in time."""
        if self.streams:
            return super().sendall(data, flags)
        rest = memoryview(data)[0 if self._unsent else self._sent_now(data) :]
        if not rest:
            return
        if self._all_unsent.add(len(rest)):
            self._unsent += rest
            return
        timeout_s = self.gettimeout()
        self.settimeout(HURRIED_S if timeout_s is None else min(HURRIED_S, timeout_s))
        super().sendall(self._taken_back())
        super().sendall(rest)

    def send_unsent(self) -> bool:
        """Sends as much as possible without waiting; returns whether bytes are left. Raises OSError if the client is
        gone."""
        sent = self._sent_now(self._unsent)
        del self._unsent[:sent]
        self._all_unsent.add(-sent)
        return bool(self._unsent)

    def close(self) -> None:
        self._taken_back()
        super().close()

    def _sent_now(self, data: Any) -> int:
        timeout_s = self.gettimeout()
        # With a timeout set, Python would wait in spite of any flags.
        self.settimeout(0)
        try:
            return self.send(data)
        except BlockingIOError:
            return 0
        finally:
            self.settimeout(timeout_s)

    def _taken_back(self) -> bytearray:
        unsent, self._unsent = self._unsent, bytearray()
        self._all_unsent.add(-len(unsent))
        return unsent
