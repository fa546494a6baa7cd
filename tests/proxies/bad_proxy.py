"""A proxy that misbehaves as a test says, and a site that notes the address of each visitor."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

CHALLENGE = b"<title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/h/b'></script>"


@dataclass
class Visit:
    path: str
    address: str
    """Of whoever connected: a proxy, or this machine."""
    at: float
    headers: dict[str, str]
    port: int = 0
    """Of the connection, at the same end."""


@dataclass
class LoggedSite:
    """Pages that link to others. `blocked` are the addresses that get a challenge."""

    pages: int = 20
    is_secure: bool = False
    forged: tuple[str, str] = ("", "")
    """Status and header of all pages, as if a proxy had answered."""
    blocked: set[str] = field(default_factory=set)
    visits: list[Visit] = field(default_factory=list)
    port: int = 0
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http{'s' * self.is_secure}://127.0.0.1:{self.port}/"

    @property
    def addresses(self) -> set[str]:
        return {visit.address for visit in self.visits}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address, port = writer.get_extra_info("peername")[:2]
        self.open.add(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError), closing(writer):
            while True:
                path, headers = await _head(reader)
                self.visits.append(Visit(path, address, asyncio.get_running_loop().time(), headers, port))
                writer.write(self._answer(path, address))
                await writer.drain()

    def _answer(self, path: str, address: str) -> bytes:
        if path == "/robots.txt":
            return response(b"User-agent: *\nDisallow: /secret\n", kind="text/plain")
        if path == "/sitemap.xml":
            locations = "".join(f"<url><loc>{self.url}listed{n}</loc></url>" for n in range(3))
            return response(f"<urlset>{locations}</urlset>".encode(), kind="text/xml")
        if self.forged[0]:
            return response(b"no", self.forged[0], extra=f"{self.forged[1]}\r\n")
        if address in self.blocked:
            return response(CHALLENGE, "403 Forbidden", extra="cf-mitigated: challenge\r\nServer: cloudflare\r\n")
        links = "".join(f'<a href="/p{n}">{n}</a>' for n in range(self.pages - 1))
        return response(f"<title>{path}</title>{links}".encode())


def response(body: bytes, status: str = "200 OK", kind: str = "text/html", extra: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


@dataclass
class BadProxy:
    """`manner`: good, dies (in the middle of a body), 407, 502, drips, lies (about the length), refuses (closes)."""

    manner: str
    address: str = "127.0.0.9"
    """From which it connects to sites."""
    requests: int = 0
    logins: list[str] = field(default_factory=list)
    tunnels: dict[int, str] = field(default_factory=dict)
    """Port towards the site -> login of whoever opened the tunnel."""
    port: int = 0
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError), closing(writer):
            while True:
                target, headers = await _head(reader)
                self.requests += 1
                self.logins.append(headers.get("proxy-authorization", ""))
                if "://" not in target:
                    return await self._tunnel(target, self.logins[-1], reader, writer)
                if not await self._answer(target, headers, writer):
                    break

    async def _answer(self, target: str, headers: dict[str, str], writer: asyncio.StreamWriter) -> bool:
        """Whether the connection stays open."""
        if self.manner == "refuses":
            return False
        if self.manner == "407":
            writer.write(response(b"", "407 Proxy Authentication Required", extra="Proxy-Authenticate: Basic\r\n"))
            return True
        if self.manner == "502":
            writer.write(response(b"<h1>Bad Gateway</h1>", "502 Bad Gateway"))
            return True
        whole = await self._forwarded(target, headers)
        if self.manner == "dies":
            writer.write(whole[: len(whole) - 20])
            return False
        if self.manner == "lies":
            writer.write(whole.replace(b"Content-Length: ", b"Content-Length: 9", 1))
            return False
        if self.manner == "drips":
            for byte in whole:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.5)
        writer.write(whole)
        await writer.drain()
        return True

    async def _tunnel(
        self, target: str, login: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        host, _, port = target.rpartition(":")
        there = await asyncio.open_connection(host, int(port), local_addr=(self.address, 0))
        self.tunnels[there[1].get_extra_info("sockname")[1]] = login
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(_piped(reader, there[1]), _piped(there[0], writer))

    async def _forwarded(self, target: str, headers: dict[str, str]) -> bytes:
        parts = urlsplit(target)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, local_addr=(self.address, 0))
        path = f"{parts.path or '/'}{'?' * bool(parts.query)}{parts.query}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {headers['host']}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        body = await reader.readexactly(length)
        writer.close()
        return head + body


async def _piped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError), closing(writer):
        while part := await reader.read(65536):
            writer.write(part)


async def _head(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return first.split(" ")[1], headers


Server = TypeVar("Server", LoggedSite, BadProxy)


@asynccontextmanager
async def listening(server: Server, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    listener = await asyncio.start_server(server.serve, "127.0.0.1", server.port, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for writer in server.open:
            writer.close()


@contextmanager
def in_thread(site: LoggedSite, *proxies: BadProxy) -> Iterator[None]:
    """For tests whose crawls are other processes."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> AsyncExitStack:
        stack = AsyncExitStack()
        await stack.enter_async_context(listening(site))
        for proxy in proxies:
            await stack.enter_async_context(listening(proxy))
        return stack

    stack = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
