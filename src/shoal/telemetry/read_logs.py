"""Reads the events that the roles of this machine and home have logged, in order of time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.telemetry.log_files import files
from shoal.telemetry.mask_secrets import masked

Event = dict[str, Any]


@dataclass
class LogReader:
    home: Path
    _read: dict[tuple[int, int], int] = field(default_factory=dict)
    """(device, inode) -> the offset read so far; by inode, so that a rotated file is not read twice."""

    def new_events(self) -> list[Event]:
        """The events written since the last call; the first call returns all."""
        found = [event for path in files(self.home) for event in self._new_in(path)]
        return sorted(found, key=lambda event: str(event["at"]))

    def _new_in(self, path: Path) -> Iterable[Event]:
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return []
        with file:
            stat = os.fstat(file.fileno())
            place = stat.st_dev, stat.st_ino
            start = self._read.get(place, 0)
            if start > stat.st_size:
                # Another process truncated it, so it starts from the beginning.
                start = 0
            file.seek(start)
            text = file.read()
        # The last line may be incomplete.
        complete = text[: text.rfind(b"\n") + 1]
        self._read[place] = start + len(complete)
        return [event for line in complete.splitlines() if (event := _event(line)) is not None]


TAIL_BYTES = 1_000_000


def recent_events(home: Path, id: str, most: int) -> list[Event]:
    """The last events about a job or API call, from the end of each log file, oldest first."""
    wanted = json.dumps(id).encode()
    lines = [line for path in files(home) for line in _tail(path) if wanted in line]
    events = [event for line in lines if (event := _event(line)) is not None]
    return LogFilter(id).matching(sorted(events, key=lambda event: str(event["at"])))[-most:]


def _tail(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            return file.read().splitlines()
    except FileNotFoundError:
        return []


class LogFilter:
    """Selects the events of one job or API call: lines name either, and some name both."""

    def __init__(self, id: str) -> None:
        self._ids = {id}

    def matching(self, events: list[Event]) -> list[Event]:
        for event in events:
            if self._matches(event):
                self._ids |= _named(event)
        return [event for event in events if self._matches(event)]

    def _matches(self, event: Event) -> bool:
        return not self._ids.isdisjoint(_named(event))


def event_text(line: str) -> str:
    """The message of a log line for people; secrets are masked. Also accepts lines that are not events."""
    event = _event(line)
    return str(event["message"]) if event else masked(line.strip())


def _named(event: Event) -> set[str]:
    return {str(event[name]) for name in ("job", "request_id") if name in event}


def _event(line: bytes | str) -> Event | None:
    """None if the line is not an event, such as a server's own output or a Python traceback."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and {"at", "event", "message"} <= event.keys() else None
