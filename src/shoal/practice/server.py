"""A real HTTP/1.1 server for a practice site: several loopback addresses on one port, and a separate control port.

The control port answers `/-/control?latency_ms=200&jitter_ms=50&status=503&down=1`, for all hosts or with
`host=` for one, and returns the current conditions as JSON. It stays up when the site goes down. Before it answers,
it writes the log to its file.
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import json
from collections.abc import Callable, Sequence
from typing import Any, Self
from urllib.parse import parse_qsl

from shoal.practice.listener import Conditions, Listener
from shoal.practice.request import PLAIN, Answer, Routes, Site, Visit
from shoal.practice.request_log import RequestLog

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
        self._listeners = [Listener(site, host, self._log, conditions or Conditions()) for host in hosts]
        control = Routes({CONTROL_PATH: self._control}).answer
        self._control_listener = Listener(control, "127.0.0.1", RequestLog(), Conditions())
        self._starting: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self.port = self._bind()
        self._control_listener.bind(0)
        for listener in (*self._listeners, self._control_listener):
            await listener.listen()

    async def stop(self) -> None:
        for listener in (*self._listeners, self._control_listener):
            listener.close()
        # Closed transports report their lost connections, and so the last log entries, in the next loop iteration.
        await asyncio.sleep(0)
        self._log.flush()
        self._control_listener.log.flush()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    @property
    def control_url(self) -> str:
        return f"http://127.0.0.1:{self._control_listener.port}{CONTROL_PATH}"

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"http://{host or self._listeners[0].address}:{self.port}{path}"

    def in_flight(self, host: str) -> int:
        return next(listener.in_flight for listener in self._listeners if listener.address == host)

    def _bind(self) -> int:
        tries = 1 if self.port else _PORT_TRIES
        while True:
            tries -= 1
            try:
                return self._bind_to(self.port)
            except OSError as error:
                for listener in self._listeners:
                    listener.close()
                # A port that is free on the first address may be taken on another one.
                if error.errno != errno.EADDRINUSE or not tries:
                    raise

    def _bind_to(self, port: int) -> int:
        for listener in self._listeners:
            listener.bind(port)
            port = listener.port
        return port

    def _control(self, visit: Visit) -> Answer:
        changes = dict(parse_qsl(visit.query))
        host = changes.pop("host", None)
        listeners = [listener for listener in self._listeners if host in (None, listener.address)]
        if not listeners:
            return Answer(400, f"no host {host} here\n".encode(), PLAIN)
        try:
            for listener in listeners:
                self._set_conditions(listener, _changed(listener.conditions, changes))
        except ValueError as error:
            return Answer(400, f"{error}\n".encode(), PLAIN)
        self._log.flush()
        conditions = {listener.address: dataclasses.asdict(listener.conditions) for listener in self._listeners}
        return Answer(200, json.dumps(conditions).encode(), "application/json")

    def _set_conditions(self, listener: Listener, conditions: Conditions) -> None:
        was_down = listener.conditions.down
        listener.conditions = conditions
        if conditions.down and not was_down:
            listener.close()
        elif was_down and not conditions.down:
            listener.bind(self.port)
            task = asyncio.get_running_loop().create_task(listener.listen())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)


def _changed(conditions: Conditions, changes: dict[str, str]) -> Conditions:
    """Raises ValueError for an unknown name or an invalid value."""
    unknown = changes.keys() - _READERS
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}; known: host, {', '.join(_READERS)}")
    return dataclasses.replace(conditions, **{name: _READERS[name](text) for name, text in changes.items()})
