"""Shares the readers of a process among its jobs: decides whose page is read next, and which job has to wait.

Jobs take turns. On a fleet, a job whose pages take more than a second each runs up a debt, which halves every minute.
A job with debt has one page read at a time, waits that long between two pages, and shares one reader with all such
jobs. So the other readers are always free for jobs with normal pages.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable

FREE_S = 1.0
"""Reading time of a page that adds no debt."""
SLOW_DEBT_S = 2.0
"""A job with more debt counts as slow."""
HALF_LIFE_S = 60.0
MOST_WAITING = 8
"""Waiting pages of a job at which it stops fetching."""
_FORGOTTEN_S = 0.01


class ReadAbandoned(Exception):
    """The page was not read: the crawl stopped, its job's time is up, or its job has too many waiting pages."""


class ReaderScheduler:
    def __init__(self, readers: int, shared: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """`shared`: the readers also serve other people's jobs, so a slow job has to wait."""
        self._free = self._readers = readers
        self._shared = shared
        self._clock = clock
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._reading: Counter[str] = Counter()
        self._debts: dict[str, tuple[float, float]] = {}
        """job -> seconds owed, and when they were counted"""
        self._not_before: dict[str, float] = {}
        self._served_at: dict[str, float] = {}
        self._again: asyncio.TimerHandle | None = None

    def debt_s(self, job: str) -> float:
        owed, at = self._debts.get(job, (0.0, 0.0))
        return float(owed * 0.5 ** ((self._clock() - at) / HALF_LIFE_S))

    def is_slow(self, job: str) -> bool:
        return self._shared and self.debt_s(job) > SLOW_DEBT_S

    def has_room(self, job: str) -> bool:
        """Whether another page of the job could be read soon."""
        if self.is_slow(job):
            return not self._reading[job] and not self._waiting.get(job)
        return len(self._waiting.get(job, ())) < MOST_WAITING

    async def acquire(self, job: str, turn: asyncio.Future[None]) -> None:
        """Waits for a reader. An exception set on `turn` ends the wait. Raises ReadAbandoned."""
        waiting = self._waiting.setdefault(job, deque())
        if waiting and self.is_slow(job):
            raise ReadAbandoned(f"another page of job {job} already waits for a reader")
        waiting.append(turn)
        self._assign()
        try:
            await turn
        except BaseException:
            # Also if the wait is cancelled: a turn that was given must go to the next.
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.release(job, 0.0)
            else:
                self._forget(job, turn)
            raise

    def release(self, job: str, seconds: float) -> None:
        self._free += 1
        self._reading[job] -= 1
        if not self._reading[job]:
            del self._reading[job]
        if seconds > FREE_S:
            self._debts[job] = (self.debt_s(job) + seconds - FREE_S, self._clock())
        if self.is_slow(job):
            self._not_before[job] = self._clock() + self.debt_s(job)
        self._assign()

    def _assign(self) -> None:
        while self._free and (job := self._next()) is not None:
            turn = self._waiting[job].popleft()
            if turn.done():
                continue
            self._free -= 1
            self._reading[job] += 1
            self._served_at[job] = self._clock()
            turn.set_result(None)
        self._clean_up()

    def _next(self) -> str | None:
        """The job that has the fewest pages being read, and was served longest ago."""
        able = [job for job, waiting in self._waiting.items() if waiting and self._may_read(job)]
        return min(able, key=lambda job: (self._reading[job], self._served_at.get(job, 0.0)), default=None)

    def _may_read(self, job: str) -> bool:
        if not self.is_slow(job):
            return True
        if any(self.is_slow(other) for other in self._reading):
            return False
        wait_s = self._not_before.get(job, 0.0) - self._clock()
        if wait_s > 0:
            self._check_later(wait_s)
        return wait_s <= 0

    def _check_later(self, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        if self._again is None or self._again.cancelled() or self._again.when() > loop.time() + wait_s:
            if self._again is not None:
                self._again.cancel()
            self._again = loop.call_later(wait_s, self._checked)

    def _checked(self) -> None:
        self._again = None
        self._assign()

    def _forget(self, job: str, turn: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(job)
        if waiting is not None and turn in waiting:
            waiting.remove(turn)
        self._clean_up()

    def _clean_up(self) -> None:
        for job in [job for job, waiting in self._waiting.items() if not waiting]:
            del self._waiting[job]
        for job in [job for job in self._debts if self.debt_s(job) < _FORGOTTEN_S]:
            del self._debts[job]
            self._not_before.pop(job, None)
        if len(self._served_at) > 1_000:
            self._served_at.clear()
