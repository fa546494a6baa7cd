"""One address of the practice server: its listener, its connections, and the conditions visitors meet there.

Connections speak HTTP/1.1 with keep-alive, pipelining answered in order, and bodies by Content-Length,
unless an answer brings bytes of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from shoal.practice.log import Entry, RequestLog
from shoal.practice.visit import PLAIN, Answer, Site, Visit
from shoal.practice.wire import HEAD_END, MAX_HEAD_BYTES, answer_head, read_head

_connection_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a door treats its visitors, whatever the site would answer."""

    latency_ms: float = 0.0
    jitter_ms: float = 0.0
    """Up to this much is added to the latency, at random."""
    status: int = 0
    """Answer everything with this status; 0: leave it to the site."""
    down: bool = False
    """Refuse connections and cut those that are open."""


class Door:
    def __init__(self, site: Site, address: str, log: RequestLog, conditions: Conditions) -> None:
        self.address = address
        self.port = 0
        self.log = log
        self.conditions = conditions
        self.in_flight = 0
        self.connections: set[Connection] = set()
        self._site = site
        self._random = random.Random(address)
        self._socket: socket.socket | None = None
        self._listener: asyncio.Server | None = None

    def bind(self, port: int) -> None:
        """From here on visitors can connect; they wait until `listen`."""
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        self._socket = socket.create_server((self.address, port), family=family, backlog=1024)
        self.port = self._socket.getsockname()[1]

    async def listen(self) -> None:
        assert self._socket, "bind first"
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self), sock=self._socket)

    def close(self) -> None:
        if self._listener:
            self._listener.close()
        if self._socket:
            self._socket.close()
        self._listener = self._socket = None
        for connection in list(self.connections):
            connection.abort()

    def answer(self, visit: Visit) -> Answer:
        conditions = self.conditions
        if conditions.status:
            answer = Answer(conditions.status, b"told to fail\n", PLAIN)
        else:
            answer = self._site(visit)
        latency_ms = conditions.latency_ms + conditions.jitter_ms * self._random.random()
        return answer._replace(delay_s=answer.delay_s + latency_ms / 1000) if latency_ms else answer


@dataclass(slots=True)
class _Stay:
    """A visit in progress."""

    visit: Visit
    t_start: float
    in_flight: int
    pending: asyncio.TimerHandle | asyncio.Task[None] | None = None
    """What will end it."""


class Connection(asyncio.Protocol):
    def __init__(self, door: Door) -> None:
        self._door = door
        self._number = next(_connection_numbers)
        self._received = bytearray()
        self._stay: _Stay | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is one in all but its ancestry.
        self._transport = cast(asyncio.Transport, transport)
        self._door.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._serve()

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.connections.discard(self)
        if self._stay and self._stay.pending:
            self._stay.pending.cancel()
            self._end(self._stay, None)

    def pause_writing(self) -> None:
        self._flowing.clear()

    def resume_writing(self) -> None:
        self._flowing.set()

    def abort(self) -> None:
        self._transport.abort()

    def _serve(self) -> None:
        """Answers what was received, one visit at a time, until one has to wait."""
        while self._stay is None and not self._transport.is_closing():
            visit = self._next_visit()
            if visit is None:
                return
            self._begin(visit)

    def _next_visit(self) -> Visit | None:
        end = self._received.find(HEAD_END)
        if end < 0:
            if len(self._received) > MAX_HEAD_BYTES:
                self._refuse(431)
            return None
        try:
            method, target, headers = read_head(self._received[:end].decode("latin-1"))
            body_bytes = int(headers.get("content-length", "0"))
        except ValueError:
            self._refuse(400)
            return None
        body_start = end + len(HEAD_END)
        body_end = body_start + body_bytes
        if len(self._received) < body_end:
            return None
        body = bytes(self._received[body_start:body_end])
        del self._received[:body_end]
        path, _, query = target.partition("?")
        return Visit(self._door.address, self._door.port, method, target, path, query, headers, body)

    def _begin(self, visit: Visit) -> None:
        door = self._door
        t_start = door.log.now()
        door.in_flight += 1
        self._stay = stay = _Stay(visit, t_start, door.in_flight)
        answer = door.answer(visit)
        if answer.delay_s:
            stay.pending = asyncio.get_running_loop().call_later(answer.delay_s, self._finish_late, stay, answer)
        else:
            self._finish(stay, answer)

    def _finish_late(self, stay: _Stay, answer: Answer) -> None:
        self._finish(stay, answer)
        self._serve()

    def _finish(self, stay: _Stay, answer: Answer) -> None:
        if answer.raw is not None:
            stay.pending = asyncio.get_running_loop().create_task(self._pour(stay, answer, answer.raw))
            return
        closing = stay.visit.headers.get("connection", "").lower() == "close"
        head = answer_head(answer, closing)
        self._transport.write(head if stay.visit.method == "HEAD" else head + answer.body)
        self._end(stay, answer.status)
        if closing:
            self._transport.close()

    async def _pour(self, stay: _Stay, answer: Answer, pieces: Iterable[bytes]) -> None:
        """No faster than the visitor takes it: what never ends must not fill this process either."""
        for piece in pieces:
            self._transport.write(piece)
            await asyncio.sleep(answer.pause_s)
            await self._flowing.wait()
        self._end(stay, answer.status)
        self._transport.close()

    def _end(self, stay: _Stay, status: int | None) -> None:
        self._stay = None
        door, visit = self._door, stay.visit
        door.in_flight -= 1
        door.log.add(
            Entry(
                t_start=stay.t_start,
                t_end=door.log.now(),
                host=door.address,
                method=visit.method,
                path=visit.target,
                status=status,
                agent=visit.headers.get("user-agent", ""),
                connection=self._number,
                in_flight=stay.in_flight,
            )
        )

    def _refuse(self, status: int) -> None:
        self._transport.write(answer_head(Answer(status, b"", PLAIN), closing=True))
        self._transport.close()
