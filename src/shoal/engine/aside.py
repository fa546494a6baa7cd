"""Reads in processes of their own whatever may take long: big pages and sitemaps, formats, rules that may be costly.

They hold no other host up, crash nothing else and can be killed. A process is started when the first such page comes
and serves one page at a time: when it dies, runs out of memory or takes too long, that page alone is to blame, and the
next page gets a new one. No page is blamed for what others left behind: a process that holds much memory after a page
is replaced, and a page that ends one which had read others is read once more in a new one, unless it took too long.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from shoal.engine.reader import OUT_OF_MEMORY, WAITS_PER_SECOND, packed, read_frame, unpacked, write_frame
from shoal.engine.reader_share import GivenUp, ReaderShare
from shoal.engine.reading import Ask, PageRead, SitemapPart, read_part

T = TypeVar("T")

READERS = 2
SECONDS = 10.0
"""Of CPU, for a page or for each of its formats; by the clock it may take WAITS_PER_SECOND times as long."""
MEMORY_BYTES = 1 << 30
"""Of address space; the worst pages of 10 MB that were tried take 400 MB."""
KEPT_BYTES = 150_000_000
"""Of memory that a reader may hold after a page: after most pages of 10 MB it is under 90. A new reader holds 17 MB, or
60 with what formats and rules need, and is there in 90 ms."""
NOTED_AFTER_S = 5.0
"""A page that is read, or waits to be, for longer is told to whoever asks what its job waits for."""
NICENESS, NICENESS_AMONG_OTHERS = 2, 10
"""Below the crawl's own process: requests and heartbeats go on while pages are read; on a fleet, those of all jobs."""
STEPS_BACK_AFTER_S = 1.0
LAST_NICENESS = 19
"""A reader that a page takes for longer lets all other processes of the machine go first."""
ROOM_EVERY_S = 0.05
ROOM_WITHIN_S = 2.0


_OVER = "the crawl or its job's time is over"
_TIMED_OUT = (-signal.SIGPROF, -signal.SIGALRM)


class Unread(Exception):
    """A page that could not be read; `reason` is that of its dead letter."""

    def __init__(self, reason: str, detail: str, status: int = 0) -> None:
        """`status` is that of the process, if it ended."""
        super().__init__(detail)
        self.reason = reason
        self.is_timeout = status in _TIMED_OUT
        self.is_too_costly = self.is_timeout or status == OUT_OF_MEMORY


Question = Mapping[str, Any]
"""What a reader is to do; reader.py says what there is."""


class Reader:
    """One process. To ask, to await its reply and to close it may take long and belong in a thread."""

    def __init__(self, seconds: float, memory_bytes: int, niceness: int = NICENESS) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self.is_last = False
        # Modules come from where ours do, not from whatever lies in the directory that the crawl was started in; and a
        # group of its own, so that Ctrl-C is ours to handle.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shoal.engine.reader", str(seconds), str(memory_bytes), str(niceness)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        assert self._process.stdin and self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def ask(self, question: Question, body: bytes) -> None:
        with suppress(BrokenPipeError):
            # Its end shows where the answer is awaited.
            write_frame(self._stdin, packed(question))
            write_frame(self._stdin, body)

    def reply(self) -> dict[str, Any] | None:
        """None: that was all. Raises Unread."""
        frame = read_frame(self._stdout)
        if frame is None:
            status = self._process.wait()
            raise Unread("poison", self._last_words(status), status)
        return unpacked(frame) if frame else None

    def resident_bytes(self) -> int:
        """0 where the system does not tell."""
        statm = Path(f"/proc/{self._process.pid}/statm")
        if not statm.exists():
            return 0
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def step_back(self) -> None:
        """From now on it runs only when nobody else wants the CPU. There is no way back without privileges."""
        self.is_last = True
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, LAST_NICENESS)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self.kill()
        self._process.wait()
        self._stdout.close()
        with suppress(BrokenPipeError):
            self._stdin.close()

    def _last_words(self, status: int) -> str:
        if status == -signal.SIGPROF:
            return f"reading it took more than {self._seconds:g} s"
        if status == -signal.SIGALRM:
            return f"reading it took more than {self._seconds * WAITS_PER_SECOND:g} s, most of it waiting for the CPU"
        if status == OUT_OF_MEMORY:
            return f"reading it took more than {self._memory_bytes // 1_000_000:,} MB of memory"
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"reading it ended its process ({how})"


def asked_once(question: Question, body: bytes, seconds: float = SECONDS) -> dict[str, Any]:
    """The one reply of a reader that is started for this question. It can be interrupted. Raises Unread."""
    reader = Reader(seconds, MEMORY_BYTES)
    try:
        reader.ask(question, body)
        reply = reader.reply()
        assert reply is not None
        if "fault" in reply:
            raise Unread("unreadable", reply["fault"])
        return reply
    finally:
        reader.close()


@dataclass(slots=True, eq=False)
class _Reading:
    """A page that is read, or waits to be."""

    job: str
    since: float
    turn: asyncio.Future[None]
    reader: Reader | None = None
    """None: it waits."""
    is_given_up: bool = False

    def step_back(self) -> None:
        if self.reader is not None:
            self.reader.step_back()

    def give_up(self) -> None:
        if self.reader is not None:
            self.is_given_up = True
            self.reader.kill()
        elif not self.turn.done():
            self.turn.set_exception(GivenUp(_OVER))

    def words(self, seconds: float) -> str:
        return f"a page {'waits for a reader' if self.reader is None else 'is being read'} for {seconds:.0f} s"


class Aside:
    def __init__(
        self,
        seconds: float = SECONDS,
        memory_bytes: int = MEMORY_BYTES,
        kept_bytes: int = KEPT_BYTES,
        with_others: bool = False,
    ) -> None:
        """`with_others`: jobs of others are read here too."""
        self._bounds = (seconds, memory_bytes, NICENESS_AMONG_OTHERS if with_others else NICENESS)
        self._kept_bytes = kept_bytes
        self._share = ReaderShare(READERS, with_others)
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="aside")
        self._idle: list[Reader] = []
        self._readings: set[_Reading] = set()
        self.held_bytes = 0
        """Of bodies that are being read or wait for their turn."""

    @property
    def is_busy(self) -> bool:
        """Pages are read or wait to be, which ends within the bounds of each."""
        return bool(self._readings)

    def __len__(self) -> int:
        return len(self._readings)

    def notes(self, after_s: float = NOTED_AFTER_S) -> dict[str, str]:
        """In words, by job, the page that has been read or has waited for longest, if that is long."""
        now = time.monotonic()
        oldest: dict[str, _Reading] = {}
        for reading in sorted(self._readings, key=lambda each: (each.reader is None, each.since)):
            oldest.setdefault(reading.job, reading)
        return {job: each.words(now - each.since) for job, each in oldest.items() if now - each.since > after_s}

    async def room(self, job: str) -> bool:
        """Waits a moment until another page of the job could be read soon; False if that takes longer."""
        deadline = time.monotonic() + ROOM_WITHIN_S
        while not self._share.has_room(job):
            if self._share.is_dear(job) or time.monotonic() > deadline:
                return False
            await asyncio.sleep(ROOM_EVERY_S)
        return True

    def has_room(self, job: str) -> bool:
        return self._share.has_room(job)

    async def page(self, job: str, ask: Ask, body: bytes) -> PageRead:
        """Raises Unread and GivenUp. A format that cannot be made costs the page nothing else."""
        body = read_part(body)
        read: list[PageRead] = []
        left = list(ask.formats)
        question: Question = {"do": "page", "how": ask}
        while not read or left:
            try:
                async with aclosing(self._replies(job, question, body)) as replies:
                    async for reply in replies:
                        if "page" in reply:
                            read.append(PageRead(*reply["page"]))
                        else:
                            _add_format(read[0], left, *reply["format"])
                # Of a page that asks not to be kept no format is made.
                break
            except Unread as error:
                if not read:
                    raise
                # The format that was being made ended its reader; another one makes the rest.
                _add_format(read[0], left, left[0], None, str(error))
                question = {"do": "formats", "how": ask._replace(formats=tuple(left))}
        return read[0]

    async def ask(self, job: str, question: Question, body: bytes) -> dict[str, Any]:
        """The one reply to a question. Raises Unread and GivenUp."""
        async with aclosing(self._replies(job, question, body)) as replies:
            (reply,) = [reply async for reply in replies]
        return reply

    async def sitemap(self, job: str, body: bytes) -> AsyncGenerator[SitemapPart, None]:
        """Raises Unread and GivenUp, perhaps after some parts. Whoever leaves early closes it."""
        async with aclosing(self._replies(job, {"do": "sitemap"}, body)) as replies:
            async for reply in replies:
                yield SitemapPart(*reply["part"])

    def give_up(self, after_s: float, job: str | None = None) -> None:
        """Ends what is read or waits for longer, of one job or of all: the requests return."""
        before = time.monotonic() - after_s
        for reading in self._readings:
            if reading.since < before and job in (None, reading.job):
                reading.give_up()

    def close(self) -> None:
        """When nobody waits for an answer any more."""
        for reader in self._idle:
            self._threads.submit(reader.close)
        self._idle.clear()
        self._threads.shutdown()

    async def _replies(self, job: str, question: Question, body: bytes) -> AsyncGenerator[dict[str, Any], None]:
        async with self._turn(job, len(body)) as reading:
            try:
                reply = await self._begun(reading, question, body)
                reader = reading.reader
                assert reader is not None
                with self._ended_by_failure(reader):
                    while reply:
                        if "fault" in reply:
                            raise Unread("unreadable", reply["fault"])
                        yield reply
                        reply = await self._in_thread(reader.reply)
            except Unread as error:
                if reading.is_given_up:
                    raise GivenUp(_OVER) from error
                raise
            self._keep(reader)

    @asynccontextmanager
    async def _turn(self, job: str, size: int) -> AsyncIterator[_Reading]:
        reading = _Reading(job, time.monotonic(), asyncio.get_running_loop().create_future())
        self.held_bytes += size
        self._readings.add(reading)
        try:
            await self._share.take(job, reading.turn)
            reading.since = time.monotonic()
            stepping_back = asyncio.get_running_loop().call_later(STEPS_BACK_AFTER_S, reading.step_back)
            try:
                yield reading
            finally:
                stepping_back.cancel()
                self._share.give_back(job, time.monotonic() - reading.since)
        finally:
            self._readings.remove(reading)
            self.held_bytes -= size

    async def _begun(self, reading: _Reading, question: Question, body: bytes) -> dict[str, Any] | None:
        """The first reply; who gave it reads on."""
        if self._idle:
            try:
                return await self._first_reply(reading, self._idle.pop(), question, body)
            except Unread as error:
                # What it read before may be to blame, though not for the time: a new one's end says that this page is.
                if reading.is_given_up or error.is_timeout:
                    raise
        return await self._first_reply(reading, Reader(*self._bounds), question, body)

    async def _first_reply(
        self, reading: _Reading, reader: Reader, question: Question, body: bytes
    ) -> dict[str, Any] | None:
        reading.reader = reader
        if self._share.is_dear(reading.job):
            reader.step_back()
        with self._ended_by_failure(reader):
            await self._in_thread(reader.ask, question, body)
            return await self._in_thread(reader.reply)

    @contextmanager
    def _ended_by_failure(self, reader: Reader) -> Iterator[None]:
        try:
            yield
        except BaseException:
            # It is dead, or in the middle of something that nobody waits for.
            self._end(reader)
            raise

    def _keep(self, reader: Reader) -> None:
        if reader.is_last or reader.resident_bytes() > self._kept_bytes:
            self._end(reader)
        else:
            self._idle.append(reader)

    def _end(self, reader: Reader) -> None:
        # At once: a thread that waits for its answer gets the end of it, and is free to close it.
        reader.kill()
        self._threads.submit(reader.close)

    async def _in_thread(self, call: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *args)


@dataclass(frozen=True, slots=True)
class JobReaders:
    """The readers, for a page of one job."""

    aside: Aside
    job: str
    before: Callable[[], None]
    """Called when the page leaves this process, which can then not be blamed on it."""

    async def page(self, ask: Ask, body: bytes) -> PageRead:
        """Raises Unread and GivenUp, as does `ask`."""
        self.before()
        return await self.aside.page(self.job, ask, body)

    async def ask(self, question: Question, body: bytes) -> dict[str, Any]:
        self.before()
        return await self.aside.ask(self.job, question, body)


def _add_format(page: PageRead, left: list[str], name: str, value: Any, why_missing: str | None) -> None:
    page.formats[name] = value
    if why_missing is not None:
        page.missing[name] = why_missing
    left.remove(name)
