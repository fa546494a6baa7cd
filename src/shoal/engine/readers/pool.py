"""A pool of processes for slow reading: big pages and sitemaps, formats, and rules that may be costly.

A slow page delays no other host there, a crash harms nothing else, and a reader can be killed. The first such page
starts a process, which then serves one page at a time. If it dies, runs out of memory or takes too long, only that page
is to blame, and the next page gets a new process. No page is blamed for earlier ones. So a process that still holds
much memory after a page is replaced. And if a page ends a process that had read others, it is read again in a new one,
unless it took too long.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.cpu_wait import cpu_wait_s
from shoal.engine.readers.process import WAITS_PER_SECOND
from shoal.engine.readers.reader_client import (
    MEMORY_BYTES,
    NICENESS,
    NICENESS_AMONG_OTHERS,
    SECONDS,
    ReaderProcess,
    ReaderRequest,
    ReadFailed,
)
from shoal.engine.readers.scheduler import ReadAbandoned, ReaderScheduler
from shoal.engine.reading.parse_page import ParsedPage, ParseRequest, SitemapPart, truncate_body
from shoal.extract.page import PageHead

if TYPE_CHECKING:
    from shoal.spiders.callback_limits import CrashMark

T = TypeVar("T")

READERS = 2
KEPT_BYTES = 150_000_000
"""Memory that a reader may hold after a page. After most pages of 10 MB it is under 90 MB. A new reader holds 17 MB, or
60 MB with the modules for formats and rules, and starts in 90 ms."""
NOTED_AFTER_S = 5.0
"""A page that is read, or waits, for longer is shown as what its job waits for."""
LOWER_AFTER_S = 1.0
"""For a page, without the time in which its reader waits for a processor: a busy machine makes no page costly."""
LEAST_WAIT_SHARE = 0.1
"""Of that limit: how soon, at the soonest, a reader that mostly waits is looked at again."""
FROZEN_AFTER_S = 60.0
"""A reader ends itself by its alarms. A frozen one cannot: it is killed when its alarms are overdue this long."""
ROOM_EVERY_S = 0.05
ROOM_WITHIN_S = 2.0
_OVER = "the crawl has stopped, or its job's time is up"


@dataclass(slots=True, eq=False)
class _Reading:
    """A page that is being read, or waits."""

    job: str
    since: float
    turn: asyncio.Future[None]
    reader: ReaderProcess | None = None
    """None: it waits."""
    is_given_up: bool = False
    _cpu_wait_before_s: float = 0.0
    _lowering: asyncio.TimerHandle | None = None

    def give(self, reader: ReaderProcess) -> None:
        self.reader, self._cpu_wait_before_s = reader, reader.cpu_wait_s()

    def took_s(self) -> float:
        """Without the time in which its reader waited for a processor."""
        waited_s = 0.0 if self.reader is None else self.reader.cpu_wait_s() - self._cpu_wait_before_s
        return max(0.0, time.monotonic() - self.since - waited_s)

    def lower_priority_after(self, limit_s: float) -> None:
        left_s = limit_s - self.took_s()
        if left_s > 0:
            wait_s = max(left_s, limit_s * LEAST_WAIT_SHARE)
            self._lowering = asyncio.get_running_loop().call_later(wait_s, self.lower_priority_after, limit_s)
        elif self.reader is not None:
            self.reader.lower_priority()

    def end(self) -> None:
        if self._lowering is not None:
            self._lowering.cancel()

    def abandon(self) -> None:
        if self.reader is not None:
            self.is_given_up = True
            self.reader.kill()
        elif not self.turn.done():
            self.turn.set_exception(ReadAbandoned(_OVER))

    def describe(self, seconds: float) -> str:
        waits = f"a page has waited {seconds:.0f} s for a reader"
        return waits if self.reader is None else f"reading a page has taken {seconds:.0f} s"


class ReaderPool:
    def __init__(
        self,
        seconds: float = SECONDS,
        memory_bytes: int = MEMORY_BYTES,
        kept_bytes: int = KEPT_BYTES,
        shared: bool = False,
        lower_after_s: float = LOWER_AFTER_S,
        frozen_after_s: float = FROZEN_AFTER_S,
        waited_s: Callable[[int], float] = cpu_wait_s,
    ) -> None:
        """`shared`: the readers also serve other people's jobs."""
        self._bounds = (seconds, memory_bytes, NICENESS_AMONG_OTHERS if shared else NICENESS, waited_s)
        self._kept_bytes = kept_bytes
        self._lower_after_s = lower_after_s
        self._longest_s = seconds * WAITS_PER_SECOND + frozen_after_s
        self._scheduler = ReaderScheduler(READERS, shared)
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._idle: list[ReaderProcess] = []
        self._readings: set[_Reading] = set()
        self.held_bytes = 0
        """Size of the bodies that are being read or wait."""

    @property
    def is_busy(self) -> bool:
        """Pages are being read or wait. Each has a time limit."""
        return bool(self._readings)

    def __len__(self) -> int:
        return len(self._readings)

    def notes(self, after_s: float = NOTED_AFTER_S) -> dict[str, str]:
        """job -> the page that has been read or has waited longest, if that is long, as text for a person."""
        now = time.monotonic()
        oldest: dict[str, _Reading] = {}
        for reading in sorted(self._readings, key=lambda each: (each.reader is None, each.since)):
            oldest.setdefault(reading.job, reading)
        return {job: each.describe(now - each.since) for job, each in oldest.items() if now - each.since > after_s}

    async def wait_for_room(self, job: str) -> bool:
        """Waits a moment until another page of the job could be read soon. False if that takes longer."""
        deadline = time.monotonic() + ROOM_WITHIN_S
        while not self._scheduler.has_room(job):
            if self._scheduler.is_slow(job) or time.monotonic() > deadline:
                return False
            await asyncio.sleep(ROOM_EVERY_S)
        return True

    def has_room(self, job: str) -> bool:
        return self._scheduler.has_room(job)

    async def page(self, job: str, ask: ParseRequest, body: bytes) -> ParsedPage:
        """Raises ReadFailed and ReadAbandoned. If a format cannot be made, the page only lacks that format."""
        body = truncate_body(body)
        read: list[ParsedPage] = []
        left = list(ask.formats)
        question: ReaderRequest = {"do": "page", "how": ask}
        while not read or left:
            try:
                async with aclosing(self._replies(job, question, body)) as replies:
                    async for reply in replies:
                        if "page" in reply:
                            head, *rest = reply["page"]
                            page = ParsedPage(PageHead(*head), *rest)
                            page.text = None if reply["text"] is None else reply["text"].encode("utf-8", "replace")
                            read.append(page)
                        else:
                            _add_format(read[0], left, *reply["format"])
                # No formats are made of a page that asks not to be indexed.
                break
            except ReadFailed as error:
                if not read:
                    raise
                # The format that was being made ended its reader. Another reader makes the others.
                _add_format(read[0], left, left[0], None, str(error))
                question = {"do": "formats", "how": ask._replace(formats=tuple(left))}
        return read[0]

    async def ask(self, job: str, question: ReaderRequest, body: bytes) -> dict[str, Any]:
        """The only reply to a question. Raises ReadFailed and ReadAbandoned."""
        async with aclosing(self._replies(job, question, body)) as replies:
            (reply,) = [reply async for reply in replies]
        return reply

    async def sitemap(self, job: str, body: bytes) -> AsyncGenerator[SitemapPart, None]:
        """Raises ReadFailed and ReadAbandoned, perhaps after some parts. A caller that stops early must close it."""
        async with aclosing(self._replies(job, {"do": "sitemap"}, body)) as replies:
            async for reply in replies:
                yield SitemapPart(*reply["part"])

    def abandon(self, after_s: float, job: str | None = None) -> None:
        """Ends reading and waiting that takes longer, for one job or all. The requests return to the frontier."""
        before = time.monotonic() - after_s
        for reading in self._readings:
            if reading.since < before and job in (None, reading.job):
                reading.abandon()

    def close(self) -> None:
        """Call it when nobody waits for a reply any more."""
        for reader in self._idle:
            self._threads.submit(reader.close)
        self._idle.clear()
        self._threads.shutdown()

    async def _replies(self, job: str, question: ReaderRequest, body: bytes) -> AsyncGenerator[dict[str, Any], None]:
        async with self._turn(job, len(body)) as reading:
            try:
                reply = await self._start_reading(reading, question, body)
                reader = reading.reader
                assert reader is not None
                with self._ended_by_failure(reader):
                    while reply:
                        if "fault" in reply:
                            raise ReadFailed("unreadable", reply["fault"])
                        yield reply
                        reply = await self._call(reader, reader.reply)
            except ReadFailed as error:
                if reading.is_given_up:
                    raise ReadAbandoned(_OVER) from error
                raise
            self._keep(reader)

    @asynccontextmanager
    async def _turn(self, job: str, size: int) -> AsyncIterator[_Reading]:
        reading = _Reading(job, time.monotonic(), asyncio.get_running_loop().create_future())
        self.held_bytes += size
        self._readings.add(reading)
        try:
            await self._scheduler.acquire(job, reading.turn)
            reading.since = time.monotonic()
            reading.lower_priority_after(self._lower_after_s)
            try:
                yield reading
            finally:
                reading.end()
                self._scheduler.release(job, reading.took_s())
        finally:
            self._readings.remove(reading)
            self.held_bytes -= size

    async def _start_reading(self, reading: _Reading, question: ReaderRequest, body: bytes) -> dict[str, Any] | None:
        """Returns the first reply. The reader that gave it reads on."""
        if self._idle:
            try:
                return await self._first_reply(reading, self._idle.pop(), question, body)
            except ReadFailed as error:
                # An earlier page may be to blame, but not for a time-out. If a new reader fails too, this page is.
                if reading.is_given_up or error.is_timeout:
                    raise
        return await self._first_reply(reading, ReaderProcess(*self._bounds), question, body)

    async def _first_reply(
        self, reading: _Reading, reader: ReaderProcess, question: ReaderRequest, body: bytes
    ) -> dict[str, Any] | None:
        reading.give(reader)
        if self._scheduler.is_slow(reading.job):
            reader.lower_priority()
        with self._ended_by_failure(reader):
            await self._call(reader, reader.ask, question, body)
            return await self._call(reader, reader.reply)

    @contextmanager
    def _ended_by_failure(self, reader: ReaderProcess) -> Iterator[None]:
        try:
            yield
        except BaseException:
            # It is dead, or busy with something that nobody waits for.
            self._end(reader)
            raise

    def _keep(self, reader: ReaderProcess) -> None:
        if reader.is_last or reader.resident_bytes() > self._kept_bytes:
            self._end(reader)
        else:
            self._idle.append(reader)

    def _end(self, reader: ReaderProcess) -> None:
        # At once: a thread that waits for its reply then returns, and can close it.
        reader.kill()
        self._threads.submit(reader.close)

    async def _call(self, reader: ReaderProcess, method: Callable[..., T], *args: Any) -> T:
        loop = asyncio.get_running_loop()
        frozen = loop.call_later(self._longest_s, reader.kill)
        try:
            return await loop.run_in_executor(self._threads, method, *args)
        finally:
            frozen.cancel()


@dataclass(frozen=True, slots=True)
class JobReaders:
    """The reader pool, for a page of one job."""

    pool: ReaderPool
    job: str
    mark: CrashMark
    """Cleared when the page leaves this process: a crash of this process is then not the page's fault."""

    async def page(self, ask: ParseRequest, body: bytes) -> ParsedPage:
        """Raises ReadFailed and ReadAbandoned, as does `ask`."""
        self.mark.clear()
        return await self.pool.page(self.job, ask, body)

    async def ask(self, question: ReaderRequest, body: bytes) -> dict[str, Any]:
        self.mark.clear()
        return await self.pool.ask(self.job, question, body)


def _add_format(page: ParsedPage, left: list[str], name: str, value: Any, why_missing: str | None) -> None:
    page.formats[name] = value
    if why_missing is not None:
        page.missing[name] = why_missing
    left.remove(name)
