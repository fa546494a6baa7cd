"""The figures of jobs for the API: from frontier and store, or from the store alone if Redis is away.

`jobs/overview_cache.py` remembers them.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

from flask import current_app

from shoal.control.async_bridge import Bridge
from shoal.control.ownership import shown_overview
from shoal.errors import FrontierLost, Unavailable
from shoal.jobs.deployment import JobStatus, figures_from_store
from shoal.jobs.job_overview import Overview
from shoal.jobs.overview_cache import OverviewCache
from shoal.model import ENDED, JobState
from shoal.store.jobs import Job

ENDED_S = 600.0
"""A job that has ended changes only if somebody retries it, which gives it another state or end, or purges its dead
letters."""
AWAY_S = 5.0
"""How long readers do not try a Redis that did not answer: each try would take two seconds."""
IN_BACKGROUND = 3
"""So many jobs are counted or read at a time."""
_REMEMBERED = 1_000


def figures_of(job: Job) -> dict[str, Any]:
    return overview_of(job).as_dict()


def overview_of(job: Job) -> Overview:
    return shown_overview(_overviews().counted.of(job))


def job_status_of(job: Job) -> JobStatus:
    return _overviews().job_status(job)


class Overviews:
    """A cache of the overviews that this process was asked for."""

    def __init__(self, over: Bridge) -> None:
        self._bridge = over
        self._away_until = 0.0
        self._away = ""
        self.background = ThreadPoolExecutor(IN_BACKGROUND, "background")
        over.at_close(partial(self.background.shutdown, cancel_futures=True))
        self.counted = OverviewCache(lambda: over.fleet, self.job_status, self.background)
        self._ended: dict[str, tuple[float | None, float, JobStatus]] = {}

    def job_status(self, job: Job) -> JobStatus:
        """Of a job that has ended, at most ENDED_S old: if Redis no longer has its figures, they are counted."""
        if job.state not in ENDED:
            return self._current(job)
        finished_at, until, status = self._ended.get(job.id) or (None, 0.0, None)
        if status is None or finished_at != job.finished_at or time.monotonic() > until:
            status = self._current(job)
            if len(self._ended) >= _REMEMBERED:
                self._ended.clear()
            self._ended[job.id] = job.finished_at, time.monotonic() + ENDED_S, status
        return status._replace(job=job)

    def _current(self, job: Job) -> JobStatus:
        if time.monotonic() < self._away_until:
            return self._by_store(job)
        try:
            return self._bridge.run(self._bridge.fleet.job_status(job))
        except FrontierLost:
            raise
        except Unavailable as error:
            self._away, self._away_until = str(error), time.monotonic() + AWAY_S
            return self._by_store(job)

    def _by_store(self, job: Job) -> JobStatus:
        known = figures_from_store(self._bridge.store, job.id)
        if job.state in ENDED or job.state is JobState.PAUSED:
            return JobStatus(job, job.state, known, job.reason)
        return JobStatus(job, JobState.WAITING, known, f"{self._away}; the number of queued requests is unknown")


def register(over: Bridge, extensions: dict[str, Any]) -> Overviews:
    extensions[_NAME] = made = Overviews(over)
    return made


def _overviews() -> Overviews:
    return cast(Overviews, current_app.extensions[_NAME])


_NAME = "shoal-overviews"
