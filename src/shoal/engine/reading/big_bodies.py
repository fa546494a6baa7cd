"""Big bodies: decompressed in turn, when there is memory for it, and hashed in a thread.

A request that waits keeps its body compressed. 40 MB take tens of milliseconds to hash, and all hosts would wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.decode_body import most_unpacked_bytes, unpacked
from shoal.fetch.exchange import Exchange, Failure
from shoal.store.archive.warc import digest

MOST_BYTES = 80_000_000
"""Two of the largest pages: while one is read the next is decompressed. A larger sitemap is decompressed alone."""


class Decompression:
    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._next = asyncio.Lock()
        self._given_back = asyncio.Event()

    @asynccontextmanager
    async def unpacked(self, answer: Exchange, call: Fetch) -> AsyncIterator[Exchange | Failure]:
        """Holds the memory for as long as the body is worked on."""
        if not answer.is_packed:
            yield answer
            return
        # The real size shows only when the body is decompressed.
        held = await self._reserve(most_unpacked_bytes(call))
        try:
            whole = await unpacked(answer, call)
            size = len(whole.body) if isinstance(whole, Exchange) else 0
            self._release(held - size)
            held = size
            yield whole
        finally:
            self._release(held)

    async def _reserve(self, size: int) -> int:
        async with self._next:
            while self._bytes and self._bytes + size > self._most_bytes:
                self._given_back.clear()
                await self._given_back.wait()
            self._bytes += size
        return size

    def _release(self, size: int) -> None:
        self._bytes -= size
        self._given_back.set()


AT_ONCE_BYTES = 1_000_000
"""Smaller bodies are hashed where their digest is needed."""


async def digest_in_thread(answer: Exchange) -> None:
    """Call it before CrashMarker marks the page: nothing may wait while the mark is set."""
    if len(answer.body) > AT_ONCE_BYTES or len(answer.raw) > AT_ONCE_BYTES:
        await asyncio.to_thread(_digest, answer)


def _digest(answer: Exchange) -> None:
    answer.body_digest = digest(answer.body)
    answer.raw_digest = answer.body_digest if answer.raw is answer.body else digest(answer.raw)
