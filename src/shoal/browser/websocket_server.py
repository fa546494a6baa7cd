"""A WebSocket server for one client on this machine. Playwright speaks WebSocket, and our browser listens on a pipe.

Only a client that knows the secret path is let in. RFC 6455, without extensions.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import struct
from collections.abc import Callable
from contextlib import suppress

MOST_MESSAGE_BYTES = 256_000_000
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
_FINAL, _MASKED = 0x80, 0x80
_LENGTHS = {126: ">H", 127: ">Q"}


class WebSocketServer:
    """`on_message` gets each message of the client; `send` sends it one."""

    def __init__(self, on_message: Callable[[bytes], None]) -> None:
        self._on_message = on_message
        self._path = f"/{secrets.token_urlsafe(32)}"
        self._server: asyncio.Server | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def listen(self) -> str:
        """Returns the URL to connect to."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{self._path}"

    def send(self, message: bytes) -> None:
        """Does nothing without a client."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(_frame(_TEXT, message))

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._writer is not None:
            self._writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, ValueError):
            if self._writer is None and await self._is_greeted(reader, writer):
                self._writer = writer
                await self._receive(reader, writer)
        writer.close()

    async def _is_greeted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        _, path, _ = first.split(" ")
        if not secrets.compare_digest(path.encode(), self._path.encode()) or "sec-websocket-key" not in fields:
            return False
        accept = base64.b64encode(hashlib.sha1(fields["sec-websocket-key"].encode() + _GUID).digest()).decode()
        head = ("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade")
        writer.write("\r\n".join((*head, f"Sec-WebSocket-Accept: {accept}", "", "")).encode())
        return True

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        message = b""
        while True:
            kind, is_final, data = await _read_frame(reader, MOST_MESSAGE_BYTES - len(message))
            if kind == _CLOSE:
                return
            if kind == _PING:
                writer.write(_frame(_PONG, data))
            elif kind != _PONG:
                message += data
                if is_final:
                    self._on_message(message)
                    message = b""


async def _read_frame(reader: asyncio.StreamReader, most_bytes: int) -> tuple[int, bool, bytes]:
    """Raises ValueError for a frame that is too long or not masked."""
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length in _LENGTHS:
        form = _LENGTHS[length]
        (length,) = struct.unpack(form, await reader.readexactly(struct.calcsize(form)))
    if length > most_bytes or not second & _MASKED:
        raise ValueError("a frame that is too long or not masked")
    mask = await reader.readexactly(4)
    data = await reader.readexactly(length)
    return first & 0x0F, bool(first & _FINAL), _unmasked(data, mask)


def _unmasked(data: bytes, mask: bytes) -> bytes:
    """As one large number: byte by byte takes a second for a megabyte."""
    repeated = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data, "little") ^ int.from_bytes(repeated, "little")).to_bytes(len(data), "little")


def _frame(kind: int, data: bytes) -> bytes:
    if len(data) < 126:
        length = bytes([len(data)])
    elif len(data) < 1 << 16:
        length = b"\x7e" + struct.pack(">H", len(data))
    else:
        length = b"\x7f" + struct.pack(">Q", len(data))
    return bytes([_FINAL | kind]) + length + data
