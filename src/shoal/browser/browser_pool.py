"""The browser of this process: started when the first page needs it, replaced before it grows old, and shared by jobs.

Pages wait for a slot before their request begins. A browser that is replaced finishes its pages first. When a browser
is lost, the pages that it had open are not to blame, except for one that was open each time.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from shoal.browser.browser_process import BrowserProcess
from shoal.browser.find_browser import BrowserMissing, find_browser
from shoal.browser.process_memory import total_memory
from shoal.telemetry import EventLogger

PAGES_PER_BROWSER = 300
MOST_AGE_S = 1_800.0
PAGE_BYTES = 300_000_000
"""Memory that an open page may take, by which the number of pages at a time is decided."""
MOST_AT_ONCE = 4
MOST_RENDERER_BYTES = 1_000_000_000
BLAMED_AFTER = 4
ALONE = 2
"""A page is no longer tried if it was open in so many browsers when they were lost. One that was alone there counts
twice: somebody may have ended its browser from outside, but not again and again."""
REST_S = 60.0
"""After a browser did not start, none is started for so long: a start that fails costs more than a page."""
RETRY_EVERY_S = 5.0
LISTENERS_PER_PAGE = 2
"""A page that is being closed still has one."""
_MOST_REMEMBERED = 10_000

log = EventLogger(__name__)


@dataclass(eq=False)
class LentBrowser:
    process: BrowserProcess
    started_at: float
    pages: int = 0
    open_urls: Counter[str] = field(default_factory=Counter)

    @property
    def in_use(self) -> int:
        return sum(self.open_urls.values())


class BrowserPool:
    """Belongs to the event loop of its first page."""

    def __init__(
        self,
        agent: str,
        program: str | None = None,
        at_once: int | None = None,
        pages_per_browser: int = PAGES_PER_BROWSER,
        most_age_s: float = MOST_AGE_S,
        most_renderer_bytes: int | None = None,
        own_network: bool = True,
        has_others: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`program` is the setting `browser`. `at_once` limits the open pages; default: by memory and processors.
        `own_network`: close the browser's network by the kernel, where that is possible. `has_others`: other processes
        have browsers too, as on a fleet."""
        self._agent = agent
        self._program = program
        self._clock = clock
        self._has_others = has_others
        memory = total_memory()
        self.at_once = at_once or max(1, min(MOST_AT_ONCE, 2 * (os.cpu_count() or 1), memory // PAGE_BYTES))
        self._most_renderer_bytes = most_renderer_bytes or min(MOST_RENDERER_BYTES, memory // 4)
        self._most_bytes = self.at_once * PAGE_BYTES + MOST_RENDERER_BYTES
        self._listeners = LISTENERS_PER_PAGE * self.at_once if own_network else 0
        self._pages_per_browser = pages_per_browser
        self._most_age_s = most_age_s
        self._slots = asyncio.Semaphore(self.at_once)
        self._starting = asyncio.Lock()
        self._current: LentBrowser | None = None
        self._old: set[LentBrowser] = set()
        self._suspects: Counter[str] = Counter()
        self._fault: BrowserMissing | None = None
        self._rests_until = 0.0
        self.waiting = 0
        """Pages that wait for a slot."""
        self.open = 0
        """Pages that have one."""
        self.started = 0
        """Browsers that were started."""

    @property
    def pages(self) -> int:
        """How many pages it takes at a time. None for a while after a browser did not start."""
        return 0 if self._is_resting or self.is_away else self.at_once

    @property
    def fault(self) -> str | None:
        """Why it takes none."""
        return str(self._fault) if self._fault is not None and not self.pages else None

    @property
    def outage(self) -> str | None:
        """What its pages wait for, as text for a person. None if the browser runs, or was never needed."""
        if self._fault is None or not self.started:
            return None
        wait_s = self._rests_until - self._clock()
        when = f"again in {wait_s:.0f} s" if wait_s > 0.5 else "now"
        return f"the browser does not start again, and is tried {when}: {self._fault}"

    @property
    def is_away(self) -> bool:
        """Pages are left to other processes, because the browser of this one does not start."""
        return self._has_others and (self._is_resting or not self.started)

    @property
    def _is_resting(self) -> bool:
        return self._fault is not None and self._clock() < self._rests_until

    @property
    def is_crowded(self) -> bool:
        """A page more waits for each that may be open."""
        return self.waiting >= self.at_once

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A place for one page. Wait for it before the request counts as begun."""
        self.waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self.waiting -= 1
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self._slots.release()

    @asynccontextmanager
    async def browser(self, url: str) -> AsyncIterator[BrowserProcess]:
        """A browser for one page. Raises BrowserMissing if it does not start."""
        lent = await self._current_browser()
        lent.pages += 1
        lent.open_urls[url] += 1
        try:
            yield lent.process
        finally:
            if not lent.process.is_running:
                self._suspect(lent, url)
            lent.open_urls[url] -= 1
            self._end_if_unused(lent)

    def is_to_blame(self, url: str) -> bool:
        """Whether the browsers that this page was open in were lost again and again."""
        return self._suspects[url] >= BLAMED_AFTER

    def lose(self, process: BrowserProcess, url: str) -> None:
        """Ends a browser that does not let go of this page. Another page may be the reason."""
        log.warning("browser_lost", f"ended a browser that did not close {url}", browser=process.pid)
        process.kill()

    @asynccontextmanager
    async def own_browser(self, url: str) -> AsyncIterator[BrowserProcess]:
        """A browser for one page alone, which ends with the block. Raises BrowserMissing if it does not start."""
        lent = await self._started()
        lent.open_urls[url] += 1
        self._old.add(lent)
        try:
            yield lent.process
        finally:
            if not lent.process.is_running:
                self._suspect(lent, url)
            self._old.discard(lent)
            await lent.process.close()

    async def start(self) -> BrowserProcess:
        """Starts the browser before the first page. Raises BrowserMissing."""
        return (await self._current_browser()).process

    async def start_when_possible(self, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Tries until it has started once, as often as it may."""
        while not self.started:
            await pause(RETRY_EVERY_S)
            with suppress(BrowserMissing):
                await self.start()

    async def aclose(self) -> None:
        everything = [*self._old, *([self._current] if self._current else [])]
        self._current = None
        self._old.clear()
        for lent in everything:
            await lent.process.close()

    async def _current_browser(self) -> LentBrowser:
        async with self._starting:
            current = self._current
            if current is not None and current.process.is_running and self._is_too_old(current):
                self._old.add(current)
                self._current = None
                self._end_if_unused(current)
            if self._current is None or not self._current.process.is_running:
                self._current = await self._started()
            return self._current

    async def _started(self) -> LentBrowser:
        if self._is_resting:
            raise BrowserMissing(str(self._fault))
        try:
            process = await BrowserProcess.launch(
                find_browser(self._program),
                self._agent,
                self._listeners,
                self._most_renderer_bytes,
                self._most_bytes,
            )
        except BrowserMissing as missing:
            self._fault, self._rests_until = missing, self._clock() + REST_S
            if self.started:
                # The machine may be out of memory, or too busy for the moment.
                log.warning("browser_not_started", f"pages wait, the next try is in {REST_S:.0f} s: {missing}")
            raise
        self._fault = None
        self.started += 1
        log.info("browser_started", f"started {process.version}", browser=process.pid, network=process.has_network)
        return LentBrowser(process, self._clock())

    def _is_too_old(self, lent: LentBrowser) -> bool:
        is_aged = self._clock() - lent.started_at > self._most_age_s
        return is_aged or lent.pages >= self._pages_per_browser or lent.process.bytes > self._most_bytes

    def _end_if_unused(self, lent: LentBrowser) -> None:
        if lent is not self._current and not lent.in_use:
            self._old.discard(lent)
            lent.process.kill()

    def _suspect(self, lent: LentBrowser, url: str) -> None:
        if len(self._suspects) > _MOST_REMEMBERED:
            self._suspects.clear()
        self._suspects[url] += ALONE if lent.in_use == 1 else 1
