"""A site on loopback that answers, or fails to, exactly as a test says, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    reader: asyncio.StreamReader


Route = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Site:
    """Routes by path; any other path, and any name a client uses this site as a proxy for, gets `otherwise`."""

    port: int = 0
    routes: dict[str, Route] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    closed: int = 0
    otherwise: Route = field(default_factory=lambda: answer(b"hello"))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        try:
            while not writer.is_closing():
                asked = await _read(reader, connection)
                self.asked.append(asked)
                await self.routes.get(asked.path, self.otherwise)(asked, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.closed += 1
            writer.close()


async def _read(reader: asyncio.StreamReader, connection: int) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, body, connection, reader)


def answer(body: bytes = b"", status: str = "200 OK", headers: tuple[str, ...] = ()) -> Route:
    """A whole answer with its length; headers are lines."""

    async def route(asked: Asked, writer: asyncio.StreamWriter) -> None:
        lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", "")
        writer.write("\r\n".join(lines).encode("latin-1") + (b"" if asked.method == "HEAD" else body))

    return route


def raw(*pieces: bytes, close: bool = True) -> Route:
    """Bytes as they are."""

    async def route(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if close:
            writer.close()

    return route


async def hang(asked: Asked, _writer: asyncio.StreamWriter) -> None:
    """Says nothing until the client goes."""
    await asked.reader.read()


async def drip(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    """A byte now and then, for ever."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


@asynccontextmanager
async def serving(site: Site, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await site.converse(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def until(condition: Callable[[], bool], deadline_s: float = 20.0) -> None:
    async with asyncio.timeout(deadline_s):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in libcurl
            await asyncio.sleep(0.005)
