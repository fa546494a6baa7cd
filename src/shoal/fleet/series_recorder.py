"""Records once a minute how each running job goes: tend calls it in every round."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from shoal.frontier.contract import Frontier
from shoal.model import JobState
from shoal.store.async_store import AsyncStore
from shoal.store.jobs import Job
from shoal.store.results.time_series import MINUTE_S, record_series


class SeriesRecorder:
    def __init__(self, frontier: Frontier, async_store: AsyncStore, clock: Callable[[], float] = time.time) -> None:
        self._frontier = frontier
        self._async_store = async_store
        self._clock = clock
        self._recorded_at: dict[str, float] = {}

    def forget_others(self, ids: Collection[str]) -> None:
        """Forgets jobs that are not among these."""
        self._recorded_at = {id: at for id, at in self._recorded_at.items() if id in ids}

    async def record(self, job: Job) -> None:
        """Once a minute, and not while the job is paused."""
        now = self._clock()
        if job.state is JobState.PAUSED or 0 <= now - self._recorded_at.setdefault(job.id, now) < MINUTE_S:
            return
        self._recorded_at[job.id] = now
        figures = await self._frontier.figures(job.id)
        await self._async_store.run(record_series, job.id, now, figures.queued + figures.leased)
