"""Reads big pages and sitemaps in processes of their own, so that they hold no other host up and crash nothing else.

A process is started when the first big page comes and serves one page at a time: when it dies, runs out of memory or
takes too long, that page alone is to blame, and the next page gets a new one. No page is blamed for what others left
behind: a process that holds much memory after a page is replaced, and a page that ends one which had read others is
read once more in a new one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from shoal.engine.reader import OUT_OF_MEMORY, packed, read_frame, unpacked, write_frame
from shoal.engine.reading import Ask, PageRead, SitemapPart, read_part

T = TypeVar("T")

READERS = 2
SECONDS = 30.0
MEMORY_BYTES = 1 << 30
"""Of address space; the worst pages of 10 MB that were tried take 400 MB."""
KEPT_BYTES = 100_000_000
"""Of memory that a reader may hold after a page: after most pages of 10 MB it is under 90. A new reader holds 17 MB and
is there in 90 ms."""


class Unread(Exception):
    """A page that could not be read; `reason` is that of its dead letter."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Reader:
    """One process. To ask, to await its reply and to close it may take long and belong in a thread."""

    def __init__(self, seconds: float, memory_bytes: int) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        # Modules come from where ours do, not from whatever lies in the directory that the crawl was started in; and a
        # group of its own, so that Ctrl-C is ours to handle.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shoal.engine.reader", str(seconds), str(memory_bytes)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        assert self._process.stdin and self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def ask(self, wanted: Ask | None, body: bytes) -> None:
        """None: the body is a sitemap."""
        with suppress(BrokenPipeError):
            # Its end shows where the answer is awaited.
            write_frame(self._stdin, packed(wanted))
            write_frame(self._stdin, body)

    def reply(self) -> dict[str, Any] | None:
        """None: that was all. Raises Unread."""
        frame = read_frame(self._stdout)
        if frame is None:
            raise Unread("poison", self._last_words(self._process.wait()))
        return unpacked(frame) if frame else None

    def resident_bytes(self) -> int:
        """0 where the system does not tell."""
        statm = Path(f"/proc/{self._process.pid}/statm")
        if not statm.exists():
            return 0
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self.kill()
        self._process.wait()
        self._stdout.close()
        with suppress(BrokenPipeError):
            self._stdin.close()

    def _last_words(self, status: int) -> str:
        if status == -signal.SIGALRM:
            return f"reading it took more than {self._seconds:g} s"
        if status == OUT_OF_MEMORY:
            return f"reading it took more than {self._memory_bytes // 1_000_000:,} MB of memory"
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"reading it ended its process ({how})"


class Aside:
    def __init__(
        self, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES, kept_bytes: int = KEPT_BYTES
    ) -> None:
        self._bounds = (seconds, memory_bytes)
        self._kept_bytes = kept_bytes
        self._slots = asyncio.Semaphore(READERS)
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="aside")
        self._idle: list[Reader] = []
        self.held_bytes = 0
        """Of bodies that are being read or wait for their turn."""

    async def page(self, ask: Ask, body: bytes) -> PageRead:
        """Raises Unread."""
        async with aclosing(self._replies(ask, read_part(body))) as replies:
            (page,) = [PageRead(*reply["page"]) async for reply in replies]
        return page

    async def sitemap(self, body: bytes) -> AsyncGenerator[SitemapPart, None]:
        """Raises Unread, perhaps after some parts. Whoever leaves early closes it."""
        async with aclosing(self._replies(None, body)) as replies:
            async for reply in replies:
                yield SitemapPart(*reply["part"])

    def close(self) -> None:
        """When nobody waits for an answer any more."""
        for reader in self._idle:
            self._threads.submit(reader.close)
        self._idle.clear()
        self._threads.shutdown()

    async def _replies(self, ask: Ask | None, body: bytes) -> AsyncGenerator[dict[str, Any], None]:
        async with self._turn(len(body)):
            reader, reply = await self._begun(ask, body)
            with self._ended_by_failure(reader):
                while reply:
                    if "fault" in reply:
                        raise Unread("unreadable", reply["fault"])
                    yield reply
                    reply = await self._in_thread(reader.reply)
            self._keep(reader)

    @asynccontextmanager
    async def _turn(self, size: int) -> AsyncIterator[None]:
        self.held_bytes += size
        try:
            async with self._slots:
                yield
        finally:
            self.held_bytes -= size

    async def _begun(self, ask: Ask | None, body: bytes) -> tuple[Reader, dict[str, Any] | None]:
        """Who reads it, and the first reply."""
        if self._idle:
            with suppress(Unread):
                # What it read before may be to blame; only a new one's end says that this page is.
                return await self._first_reply(self._idle.pop(), ask, body)
        return await self._first_reply(Reader(*self._bounds), ask, body)

    async def _first_reply(self, reader: Reader, ask: Ask | None, body: bytes) -> tuple[Reader, dict[str, Any] | None]:
        with self._ended_by_failure(reader):
            await self._in_thread(reader.ask, ask, body)
            return reader, await self._in_thread(reader.reply)

    @contextmanager
    def _ended_by_failure(self, reader: Reader) -> Iterator[None]:
        try:
            yield
        except BaseException:
            # It is dead, or in the middle of something that nobody waits for.
            self._end(reader)
            raise

    def _keep(self, reader: Reader) -> None:
        if reader.resident_bytes() > self._kept_bytes:
            self._end(reader)
        else:
            self._idle.append(reader)

    def _end(self, reader: Reader) -> None:
        # At once: a thread that waits for its answer gets the end of it, and is free to close it.
        reader.kill()
        self._threads.submit(reader.close)

    async def _in_thread(self, call: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *args)
