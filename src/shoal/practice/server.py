"""A real HTTP/1.1 server for a practice site: several loopback addresses on one port, and a control port beside.

The control port answers `/-/control?latency_ms=200&jitter_ms=50&status=503&down=1`, for all hosts or with
`host=` for one, and tells the conditions that now hold as JSON. It stays up when the site goes down, and
what was logged before it answers is in the file.
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import json
from collections.abc import Callable, Sequence
from typing import Any, Self
from urllib.parse import parse_qsl

from shoal.practice.door import Conditions, Door
from shoal.practice.log import RequestLog
from shoal.practice.visit import PLAIN, Answer, Routes, Site, Visit

CONTROL_PATH = "/-/control"
_PORT_TRIES = 20
_READERS: dict[str, Callable[[str], Any]] = {
    "latency_ms": float,
    "jitter_ms": float,
    "status": int,
    "down": lambda text: bool(int(text)),
}


class Server:
    """Serves `site` on every address of `hosts`; port 0 finds a port that is free on all of them."""

    def __init__(
        self,
        site: Site,
        hosts: Sequence[str],
        port: int = 0,
        log: RequestLog | None = None,
        conditions: Conditions | None = None,
    ) -> None:
        self.port = port
        self._log = log or RequestLog()
        self._doors = [Door(site, host, self._log, conditions or Conditions()) for host in hosts]
        control = Routes({CONTROL_PATH: self._control}).answer
        self._control_door = Door(control, "127.0.0.1", RequestLog(), Conditions())
        self._listening: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self.port = self._bind_doors()
        self._control_door.bind(0)
        for door in (*self._doors, self._control_door):
            await door.listen()

    async def stop(self) -> None:
        for door in (*self._doors, self._control_door):
            door.close()
        # Transports cut off by the doors report their lost connections, and so the last entries, in the next turn.
        await asyncio.sleep(0)
        self._log.flush()
        self._control_door.log.flush()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    @property
    def control_url(self) -> str:
        return f"http://127.0.0.1:{self._control_door.port}{CONTROL_PATH}"

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"http://{host or self._doors[0].address}:{self.port}{path}"

    def in_flight(self, host: str) -> int:
        return next(door.in_flight for door in self._doors if door.address == host)

    def _bind_doors(self) -> int:
        tries = 1 if self.port else _PORT_TRIES
        while True:
            tries -= 1
            try:
                return self._bind_doors_to(self.port)
            except OSError as error:
                for door in self._doors:
                    door.close()
                # A port that the first address had free may be taken on another one.
                if error.errno != errno.EADDRINUSE or not tries:
                    raise

    def _bind_doors_to(self, port: int) -> int:
        for door in self._doors:
            door.bind(port)
            port = door.port
        return port

    def _control(self, visit: Visit) -> Answer:
        asked = dict(parse_qsl(visit.query))
        host = asked.pop("host", None)
        doors = [door for door in self._doors if host in (None, door.address)]
        if not doors:
            return Answer(400, f"no host {host} here\n".encode(), PLAIN)
        try:
            for door in doors:
                self._impose(door, _changed(door.conditions, asked))
        except ValueError as error:
            return Answer(400, f"{error}\n".encode(), PLAIN)
        self._log.flush()
        told = {door.address: dataclasses.asdict(door.conditions) for door in self._doors}
        return Answer(200, json.dumps(told).encode(), "application/json")

    def _impose(self, door: Door, conditions: Conditions) -> None:
        was_down = door.conditions.down
        door.conditions = conditions
        if conditions.down and not was_down:
            door.close()
        elif was_down and not conditions.down:
            door.bind(self.port)
            task = asyncio.get_running_loop().create_task(door.listen())
            self._listening.add(task)
            task.add_done_callback(self._listening.discard)


def _changed(conditions: Conditions, asked: dict[str, str]) -> Conditions:
    """Raises ValueError for a name or a value that makes no sense."""
    unknown = asked.keys() - _READERS
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}; known: host, {', '.join(_READERS)}")
    return dataclasses.replace(conditions, **{name: _READERS[name](text) for name, text in asked.items()})
