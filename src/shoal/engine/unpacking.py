"""Big bodies are unpacked when there is memory for it, and in order: whoever waits holds its body as it came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shoal.fetch.curl import most_unpacked_bytes, unpacked
from shoal.fetch.exchange import Exchange, Failure
from shoal.fetch.transfer import Fetch

MOST_BYTES = 80_000_000
"""Two of the largest pages: while one is being read the next is unpacked. A larger sitemap is unpacked alone."""


class Unpacking:
    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._next = asyncio.Lock()
        self._given_back = asyncio.Event()

    @asynccontextmanager
    async def unpacked(self, answer: Exchange, call: Fetch) -> AsyncIterator[Exchange | Failure]:
        """For as long as the body is worked on."""
        if not answer.is_packed:
            yield answer
            return
        # How large it is shows only when it is unpacked.
        held = await self._take(most_unpacked_bytes(call))
        try:
            whole = await unpacked(answer, call)
            size = len(whole.body) if isinstance(whole, Exchange) else 0
            self._give_back(held - size)
            held = size
            yield whole
        finally:
            self._give_back(held)

    async def _take(self, size: int) -> int:
        async with self._next:
            while self._bytes and self._bytes + size > self._most_bytes:
                self._given_back.clear()
                await self._given_back.wait()
            self._bytes += size
        return size

    def _give_back(self, size: int) -> None:
        self._bytes -= size
        self._given_back.set()
