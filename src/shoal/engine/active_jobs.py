"""The jobs an engine works on: those it was given, and in a fleet those whose requests it leases.

A job is loaded once, however many of its leases wait for it. It is reloaded when a lease has a later edition than the
loaded one: its cookies, scope or terms have changed since.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from shoal.engine.active_job import ActiveJob
from shoal.model import Lease

LEARNT_RENEWED_AFTER_S = 2.0


class JobLoader(Protocol):
    """Loads jobs for a process of a fleet. Raises ShoalError for a job that cannot be worked on here."""

    async def load(self, job: str) -> ActiveJob: ...

    async def reload(self, active_job: ActiveJob) -> None: ...

    async def reload_learnt(self, active_job: ActiveJob) -> None: ...

    async def unload(self, active_job: ActiveJob) -> None: ...


class ActiveJobs:
    def __init__(self, loader: JobLoader | None) -> None:
        self._loader = loader
        self._known: dict[str, ActiveJob] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._leases: Counter[str] = Counter()
        self._used_at: dict[str, float] = {}
        self._learnt_at: dict[str, float] = {}
        """job -> when its learnt counts were last loaded, without the loads of the whole job."""

    def add(self, active_job: ActiveJob) -> None:
        self._known[active_job.id] = active_job

    def __getitem__(self, job: str) -> ActiveJob:
        return self._known[job]

    def __iter__(self) -> Iterator[ActiveJob]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def is_current(self, lease: Lease) -> bool:
        active_job = self._known.get(lease.job)
        return active_job is not None and (self._loader is None or active_job.edition >= lease.edition)

    async def make_current(self, lease: Lease) -> None:
        """Raises ShoalError for a job that cannot be worked on here."""
        assert self._loader is not None
        async with self._turns.setdefault(lease.job, asyncio.Lock()):
            if self.is_current(lease):
                return
            active_job = self._known.get(lease.job)
            if active_job is None:
                active_job = self._known[lease.job] = await self._loader.load(lease.job)
            else:
                await self._loader.reload(active_job)
            active_job.edition = lease.edition

    async def renew_learnt(self, active_job: ActiveJob) -> None:
        """Loads what other workers have learnt, if that was last done a while ago."""
        if self._loader is None:
            return
        async with self._turns.setdefault(active_job.id, asyncio.Lock()):
            if time.monotonic() >= self._learnt_at.get(active_job.id, 0.0) + LEARNT_RENEWED_AFTER_S:
                began_at = time.monotonic()
                await self._loader.reload_learnt(active_job)
                self._learnt_at[active_job.id] = began_at

    def is_held(self, job: str) -> bool:
        """Whether this process holds leases of the job."""
        return self._leases[job] > 0

    def hold(self, leases: Iterable[Lease]) -> None:
        """The jobs of these leases are in use until `let_go`."""
        self._leases.update(lease.job for lease in leases)

    def let_go(self, job: str) -> None:
        self._leases[job] -= 1
        self._used_at[job] = time.monotonic()
        if not self._leases[job] and job not in self._known:
            # It could not be loaded.
            self._forget(job)

    async def unload_idle(self, idle_s: float) -> None:
        """Unloads jobs from which nothing was leased for `idle_s`."""
        assert self._loader is not None
        before = time.monotonic() - idle_s
        for job in [job for job in self._known if not self._leases[job] and self._used_at.get(job, 0.0) < before]:
            async with self._turns[job]:
                # Another lease may have arrived while this waited for the lock.
                if not self._leases[job]:
                    await self._loader.unload(self._known[job])
                if not self._leases[job]:
                    del self._known[job]
                    self._forget(job)

    def _forget(self, job: str) -> None:
        """Nobody waits for the lock: a task that waits for it holds a lease."""
        self._turns.pop(job, None)
        self._used_at.pop(job, None)
        self._learnt_at.pop(job, None)
        del self._leases[job]
