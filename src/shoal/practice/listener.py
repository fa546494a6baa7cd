"""One address of the practice server: its listener, its connections, and its conditions, such as latency.

Connections speak HTTP/1.1 with keep-alive, pipelining (answered in order), and bodies by Content-Length, unless an
answer has raw bytes of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from shoal.practice.http_head import HEAD_END, MAX_HEAD_BYTES, answer_head, read_head
from shoal.practice.request import PLAIN, Answer, Site, Visit
from shoal.practice.request_log import LogEntry, RequestLog

_connection_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Conditions:
    """How an address treats its visitors, whatever the site would answer."""

    latency_ms: float = 0.0
    jitter_ms: float = 0.0
    """Up to this much random extra latency."""
    status: int = 0
    """Answers everything with this status; 0: the site answers."""
    down: bool = False
    """Refuses connections and cuts open ones."""


class Listener:
    def __init__(self, site: Site, address: str, log: RequestLog, conditions: Conditions) -> None:
        self.address = address
        self.port = 0
        self.log = log
        self.conditions = conditions
        self.in_flight = 0
        self.connections: set[ListenerConnection] = set()
        self._site = site
        self._random = random.Random(address)
        self._socket: socket.socket | None = None
        self._listener: asyncio.Server | None = None

    def bind(self, port: int) -> None:
        """Visitors can connect from now on; they wait until `listen`."""
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        self._socket = socket.create_server((self.address, port), family=family, backlog=1024)
        self.port = self._socket.getsockname()[1]

    async def listen(self) -> None:
        assert self._socket, "bind first"
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: ListenerConnection(self), sock=self._socket)

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
class _OngoingVisit:
    """A visit in progress."""

    visit: Visit
    t_start: float
    in_flight: int
    pending: asyncio.TimerHandle | asyncio.Task[None] | None = None
    """What will finish it."""


class ListenerConnection(asyncio.Protocol):
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._number = next(_connection_numbers)
        self._received = bytearray()
        self._ongoing: _OngoingVisit | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport behaves like one, but is not a subclass.
        self._transport = cast(asyncio.Transport, transport)
        self._listener.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._serve()

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.connections.discard(self)
        if self._ongoing and self._ongoing.pending:
            self._ongoing.pending.cancel()
            self._end(self._ongoing, None)

    def pause_writing(self) -> None:
        self._flowing.clear()

    def resume_writing(self) -> None:
        self._flowing.set()

    def abort(self) -> None:
        self._transport.abort()

    def _serve(self) -> None:
        """Answers the received requests one at a time, until one has to wait."""
        while self._ongoing is None and not self._transport.is_closing():
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
        return Visit(self._listener.address, self._listener.port, method, target, path, query, headers, body)

    def _begin(self, visit: Visit) -> None:
        listener = self._listener
        t_start = listener.log.now()
        listener.in_flight += 1
        self._ongoing = ongoing = _OngoingVisit(visit, t_start, listener.in_flight)
        answer = listener.answer(visit)
        if answer.delay_s:
            ongoing.pending = asyncio.get_running_loop().call_later(answer.delay_s, self._finish_late, ongoing, answer)
        else:
            self._finish(ongoing, answer)

    def _finish_late(self, ongoing: _OngoingVisit, answer: Answer) -> None:
        self._finish(ongoing, answer)
        self._serve()

    def _finish(self, ongoing: _OngoingVisit, answer: Answer) -> None:
        if answer.raw is not None:
            ongoing.pending = asyncio.get_running_loop().create_task(self._send_raw(ongoing, answer, answer.raw))
            return
        closing = ongoing.visit.headers.get("connection", "").lower() == "close"
        head = answer_head(answer, closing)
        self._transport.write(head if ongoing.visit.method == "HEAD" else head + answer.body)
        self._end(ongoing, answer.status)
        if closing:
            self._transport.close()

    async def _send_raw(self, ongoing: _OngoingVisit, answer: Answer, pieces: Iterable[bytes]) -> None:
        """No faster than the visitor reads: an endless answer must not fill this process's memory."""
        for piece in pieces:
            self._transport.write(piece)
            await asyncio.sleep(answer.pause_s)
            await self._flowing.wait()
        self._end(ongoing, answer.status)
        self._transport.close()

    def _end(self, ongoing: _OngoingVisit, status: int | None) -> None:
        self._ongoing = None
        listener, visit = self._listener, ongoing.visit
        listener.in_flight -= 1
        listener.log.add(
            LogEntry(
                t_start=ongoing.t_start,
                t_end=listener.log.now(),
                host=listener.address,
                method=visit.method,
                path=visit.target,
                status=status,
                agent=visit.headers.get("user-agent", ""),
                connection=self._number,
                in_flight=ongoing.in_flight,
            )
        )

    def _refuse(self, status: int) -> None:
        self._transport.write(answer_head(Answer(status, b"", PLAIN), closing=True))
        self._transport.close()
