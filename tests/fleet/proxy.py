"""A way between a process and its server that a test makes slow, cuts and breaks."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
PIECE_BYTES = 65536
# Closed with a reset instead of a farewell.
_AT_ONCE = struct.pack("ii", 1, 0)


class Proxy:
    """Forwards connections to a port of this machine, on an event loop in a thread of its own."""

    def __init__(self, to_port: int) -> None:
        self.delay_s: Callable[[bytes], float] = lambda _: 0.0
        """How long a piece of what a client sends is held back, and all that the same client sends after it."""
        self._to_port = to_port
        self._passes = asyncio.Event()
        self._passes.set()
        self._holds: Callable[[bytes], bool] = lambda _: False
        self._let_go = asyncio.Event()
        self._let_go.set()
        self._breaks = 0
        self._ways: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """Nothing passes either way, and nobody is told; what is sent arrives after `mend`."""
        self._loop.call_soon_threadsafe(self._passes.clear)

    def mend(self) -> None:
        self._loop.call_soon_threadsafe(self._passes.set)

    def hold(self, is_held: Callable[[bytes], bool]) -> None:
        """Such pieces of what clients send, and all that the same clients send after them, until `let_go`."""
        self._loop.call_soon_threadsafe(self._let_go.clear)
        self._holds = is_held

    def let_go(self) -> None:
        self._loop.call_soon_threadsafe(self._let_go.set)

    def break_answers(self, times: int) -> None:
        """So often, the server gets what a client sends, and instead of the answer the connection is reset."""
        self._loop.call_soon_threadsafe(setattr, self, "_breaks", times)

    @property
    def breaks_left(self) -> int:
        return self._breaks

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _end(self) -> None:
        self._server.close()
        for way in self._ways:
            way.cancel()
        await asyncio.gather(*self._ways, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        way = asyncio.create_task(self._forward(reader, writer))
        self._ways.add(way)
        way.add_done_callback(self._ways.discard)

    async def _forward(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        ends = [to_client]
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self._to_port)
            ends.append(to_server)
            both = [
                asyncio.create_task(self._ask(client, to_server)),
                asyncio.create_task(self._answer(server, to_client)),
            ]
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for half in both:
                    half.cancel()
                await asyncio.gather(*both, return_exceptions=True)
        except OSError:
            pass
        finally:
            for end in ends:
                _reset(end)

    async def _ask(self, client: asyncio.StreamReader, to_server: asyncio.StreamWriter) -> None:
        while piece := await client.read(PIECE_BYTES):
            await asyncio.sleep(self.delay_s(piece))
            if self._holds(piece):
                await self._let_go.wait()
            await self._passes.wait()
            to_server.write(piece)
            await to_server.drain()

    async def _answer(self, server: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        while piece := await server.read(PIECE_BYTES):
            await self._passes.wait()
            if self._breaks:
                self._breaks -= 1
                return
            to_client.write(piece)
            await to_client.drain()


def _reset(end: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    end.close()
