"""The request log: one JSON line per visit, in the order in which the visits ended.

Lines reach the file at most 50 ms after the answer, so that another process can check a crawl with them.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

FLUSH_S = 0.05
DISCARD = Path(os.devnull)


class LogEntry(NamedTuple):
    t_start: float
    """Epoch seconds when the request's head was complete; never decreases within one server."""
    t_end: float
    """Epoch seconds when the answer was written, or the visitor left."""
    host: str
    method: str
    path: str
    """Including the query."""
    status: int | None
    """None: the visitor left before the answer."""
    agent: str
    connection: int
    in_flight: int
    """Visits in progress on this host when this one began, including itself."""


class RequestLog:
    """Appends entries to a file; needs a running event loop."""

    def __init__(self, path: Path = DISCARD) -> None:
        # Opened here, so that an unwritable path is reported before the first visit.
        path.open("ab").close()
        self._path = path
        self._entries: list[LogEntry] = []
        self._timer: asyncio.TimerHandle | None = None
        self._epoch = time.time() - time.monotonic()

    def now(self) -> float:
        return self._epoch + time.monotonic()

    def add(self, entry: LogEntry) -> None:
        self._entries.append(entry)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def flush(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        lines = "".join(json.dumps(entry._asdict()) + "\n" for entry in self._entries)
        self._entries.clear()
        with self._path.open("ab") as file:
            file.write(lines.encode())


def read_log(path: Path) -> list[LogEntry]:
    """The entries of a log, ordered by start time. Ignores a last line that a kill has cut off."""
    lines = path.read_text().split("\n")[:-1]
    return sorted((LogEntry(**json.loads(line)) for line in lines), key=lambda entry: entry.t_start)
