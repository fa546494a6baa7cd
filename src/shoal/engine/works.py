"""The jobs an engine works on: those it was given, and on a fleet those whose requests it meets.

A job is taken up once however many of its leases wait for it, and made current when a lease is of a later edition than
what is known of it here: its cookies, scope or terms have changed since.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from shoal.engine.work import Work
from shoal.model import Lease


class TakeUp(Protocol):
    """How a process of a fleet comes by a job. Raises ShoalError of one that cannot be worked on here."""

    async def take_up(self, job: str) -> Work: ...

    async def renew(self, work: Work) -> None: ...

    async def retire(self, work: Work) -> None: ...


class Works:
    def __init__(self, source: TakeUp | None) -> None:
        self._source = source
        self._known: dict[str, Work] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._leases: Counter[str] = Counter()
        self._used_at: dict[str, float] = {}

    def add(self, work: Work) -> None:
        self._known[work.job] = work

    def __getitem__(self, job: str) -> Work:
        return self._known[job]

    def __iter__(self) -> Iterator[Work]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def is_current(self, lease: Lease) -> bool:
        work = self._known.get(lease.job)
        return work is not None and (self._source is None or work.edition >= lease.edition)

    async def make_current(self, lease: Lease) -> None:
        """Raises ShoalError of a job that cannot be worked on here."""
        assert self._source is not None
        async with self._turns.setdefault(lease.job, asyncio.Lock()):
            if self.is_current(lease):
                return
            work = self._known.get(lease.job)
            if work is None:
                work = self._known[lease.job] = await self._source.take_up(lease.job)
            else:
                await self._source.renew(work)
            work.edition = lease.edition

    def is_held(self, job: str) -> bool:
        """Whether leases of it are out here."""
        return self._leases[job] > 0

    def hold(self, leases: Iterable[Lease]) -> None:
        """The jobs of these are in use until `let_go`."""
        self._leases.update(lease.job for lease in leases)

    def let_go(self, job: str) -> None:
        self._leases[job] -= 1
        self._used_at[job] = time.monotonic()
        if not self._leases[job] and job not in self._known:
            # It could not be taken up.
            self._forget(job)

    async def retire(self, idle_s: float) -> None:
        """Puts away jobs that nothing was leased of for so long."""
        assert self._source is not None
        before = time.monotonic() - idle_s
        for job in [job for job in self._known if not self._leases[job] and self._used_at.get(job, 0.0) < before]:
            async with self._turns[job]:
                # Another lease may have come while it was waited for.
                if not self._leases[job]:
                    await self._source.retire(self._known[job])
                if not self._leases[job]:
                    del self._known[job]
                    self._forget(job)

    def _forget(self, job: str) -> None:
        """Nobody waits for its turn: whoever does holds a lease."""
        self._turns.pop(job, None)
        self._used_at.pop(job, None)
        del self._leases[job]
