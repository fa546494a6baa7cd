"""A client of the Chrome DevTools Protocol over a pair of connected sockets: JSON messages, each with a NUL behind it.

It needs no port that others could connect to, and it ends with its processes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import Callable
from typing import Any

MOST_MESSAGE_BYTES = 256_000_000
"""No command of ours has a larger answer: what may be long is measured before it is asked for."""

_EVENT, _SESSION = b'{"method":', b'"sessionId":"'

Params = dict[str, Any]
OnEvent = Callable[[str, Params], None]


class DevToolsError(Exception):
    """The browser refused a command."""


class BrowserGone(DevToolsError):
    """The browser has ended, or no longer listens."""


class Session:
    """The commands and events of one target: the browser itself, or a page."""

    def __init__(self, devtools: DevTools, id: str | None, on_event: OnEvent) -> None:
        self._devtools = devtools
        self.id = id
        self.on_event = on_event

    def call(self, method: str, /, **params: Any) -> asyncio.Future[Params]:
        """The answer may raise DevToolsError."""
        return self._devtools.send(self.id, method, params)

    def tell(self, method: str, /, **params: Any) -> None:
        """Nobody waits for the answer."""
        self.call(method, **params).add_done_callback(_ignore_failure)


class DevTools(asyncio.Protocol):
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Params]] = {}
        self._sessions: dict[str | None, Session] = {}
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self.is_closed = False
        self._forward: Callable[[bytes], None] | None = None
        self.browser = self._sessions[None] = Session(self, None, _no_event)

    async def connect(self, channel: socket.socket) -> None:
        """Takes over the socket. No pipe: uvloop closes a pipe's descriptor twice, and by then it may be another's."""
        self._transport, _ = await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=channel)

    def attach(self, id: str, on_event: OnEvent) -> Session:
        session = self._sessions[id] = Session(self, id, on_event)
        return session

    def detach(self, session: Session) -> None:
        self._sessions.pop(session.id, None)

    def send(self, session: str | None, method: str, params: Params) -> asyncio.Future[Params]:
        answer: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        if self.is_closed or self._transport is None:
            answer.set_exception(BrowserGone("the browser has ended"))
            return answer
        id = next(self._ids)
        self._waiting[id] = answer
        answer.add_done_callback(lambda _: self._waiting.pop(id, None))
        message: Params = {"id": id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self._transport.write(json.dumps(message).encode() + b"\0")
        return answer

    def forward(self, to: Callable[[bytes], None]) -> None:
        """Another client has the browser for itself from now on: `to` gets every message, and `pass_on` sends one."""
        self._forward = to

    def pass_on(self, message: bytes) -> None:
        if not self.is_closed and self._transport is not None:
            self._transport.write(message + b"\0")

    def close(self) -> None:
        """Safe to call again."""
        self.is_closed = True
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(BrowserGone("the browser has ended"))
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if b"\0" not in data:
            if len(self._buffer) > MOST_MESSAGE_BYTES:
                self.close()
            return
        *messages, rest = self._buffer.split(b"\0")
        self._buffer = rest
        for message in messages:
            if self._forward is not None:
                self._forward(bytes(message))
            elif not self._is_unheard(message):
                self._take(json.loads(message))

    def _is_unheard(self, message: bytearray) -> bool:
        """An event of a page that nobody listens to any more. A flood of them must not be parsed."""
        if not message.startswith(_EVENT):
            return False
        _, found, rest = message.rpartition(_SESSION)
        return bool(found) and rest.partition(b'"')[0].decode() not in self._sessions

    def connection_lost(self, _: Exception | None) -> None:
        self.close()

    def _take(self, message: Params) -> None:
        if "id" not in message:
            session = self._sessions.get(message.get("sessionId"))
            if session is not None:
                session.on_event(message["method"], message["params"])
            return
        answer = self._waiting.get(message["id"])
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(DevToolsError(message["error"].get("message", "")))
        else:
            answer.set_result(message["result"])


def _no_event(_method: str, _params: Params) -> None:
    """Nobody asked for events of the browser itself."""


def _ignore_failure(answer: asyncio.Future[Params]) -> None:
    if not answer.cancelled():
        answer.exception()
