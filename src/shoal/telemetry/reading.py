"""The events that the roles of this machine and home have logged, in the order of their times."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.telemetry.masking import masked
from shoal.telemetry.role_file import files

Event = dict[str, Any]


@dataclass
class Reader:
    home: Path
    _read: dict[tuple[int, int], int] = field(default_factory=dict)
    """By device and inode, so that a file which is set aside is not read twice: how far."""

    def more(self) -> list[Event]:
        """Those written since the last call; at the first one all there are."""
        found = [event for path in files(self.home) for event in self._more_of(path)]
        return sorted(found, key=lambda event: str(event["at"]))

    def _more_of(self, path: Path) -> Iterable[Event]:
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return []
        with file:
            stat = os.fstat(file.fileno())
            place = stat.st_dev, stat.st_ino
            start = self._read.get(place, 0)
            if start > stat.st_size:
                # Cut by whoever bounds it: it begins anew.
                start = 0
            file.seek(start)
            text = file.read()
        # The last line may be half written.
        whole = text[: text.rfind(b"\n") + 1]
        self._read[place] = start + len(whole)
        return [event for line in whole.splitlines() if (event := _event(line)) is not None]


class About:
    """What concerns one job or request: lines name either, and some both."""

    def __init__(self, id: str) -> None:
        self._ids = {id}

    def pick(self, events: list[Event]) -> list[Event]:
        for event in events:
            if self._concerns(event):
                self._ids |= _named(event)
        return [event for event in events if self._concerns(event)]

    def _concerns(self, event: Event) -> bool:
        return not self._ids.isdisjoint(_named(event))


def said(line: str) -> str:
    """What a line of a role's file says to a person, whoever wrote it; secrets are masked."""
    event = _event(line)
    return str(event["message"]) if event else masked(line.strip())


def _named(event: Event) -> set[str]:
    return {str(event[name]) for name in ("job", "request_id") if name in event}


def _event(line: bytes | str) -> Event | None:
    """None for what is no event: a server's own words, a traceback of Python's."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and {"at", "event", "message"} <= event.keys() else None
