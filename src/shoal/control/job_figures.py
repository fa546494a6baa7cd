"""The figures of jobs for the API: from frontier and store, or from the store alone if Redis is away.

All figures of an answer are of one moment, at most some seconds ago. The state, and what the job waits for, are new.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from flask import current_app

from shoal.control.async_bridge import Bridge
from shoal.control.ownership import shown_overview
from shoal.errors import FrontierLost, Unavailable
from shoal.jobs.deployment import JobStatus, figures_from_store
from shoal.jobs.job_overview import Overview, with_stored
from shoal.model import ENDED, JobState
from shoal.store.jobs import Job
from shoal.store.results.job_figures import stored_figures

COUNTED_EVERY_S = 1.0
"""Counts are cached for this long, so that the rows of a job are not counted for every request."""
COUNTED_SHARE = 0.05
"""At most this share of the time is spent counting a job: a million pages take half a second."""
TOO_OLD = 2.0
"""Counts older than this many times the cache time are not returned. Younger ones are returned and refreshed in the
background, so that a client that polls never waits."""
ENDED_S = 600.0
"""A job that has ended changes only if somebody retries it, which gives it another state or end, or purges its dead
letters."""
AWAY_S = 5.0
"""How long readers do not try a Redis that did not answer: each try would take two seconds."""
_REMEMBERED = 1_000


def figures_of(job: Job) -> dict[str, Any]:
    return overview_of(job).as_dict()


def overview_of(job: Job) -> Overview:
    return shown_overview(_overviews().of(job))


def job_status_of(job: Job) -> JobStatus:
    return _overviews().job_status(job)


@dataclass(frozen=True, slots=True)
class _Counted:
    key: tuple[JobState, float | None]
    at: float
    took_s: float
    seen: Overview

    @property
    def age(self) -> float:
        """In cache times; above 1 the counts must be refreshed."""
        return (time.monotonic() - self.at) / max(COUNTED_EVERY_S, self.took_s / COUNTED_SHARE)


class Overviews:
    """A cache of the overviews that this process was asked for."""

    def __init__(self, over: Bridge) -> None:
        self._bridge = over
        self._away_until = 0.0
        self._away = ""
        self._counted: dict[str, _Counted] = {}
        self._ended: dict[str, tuple[float | None, float, JobStatus]] = {}
        self._counting: set[str] = set()
        self._lock = threading.Lock()
        self._background = ThreadPoolExecutor(1, "counting")

    def of(self, job: Job) -> Overview:
        status = self.job_status(job)
        known = self._counted.get(job.id)
        # The first request after a job has ended counts all of it.
        if known is None or known.key != (status.state, job.finished_at) or known.age > TOO_OLD:
            return self._count(job)
        if known.age > 1 and self._takes_turn(job.id):
            self._background.submit(self._refresh, job)
        return replace(known.seen, job=job, state=status.state, limiting=status.limiting)

    def _takes_turn(self, id: str) -> bool:
        """Only the first caller refreshes; meanwhile all get the cached counts."""
        with self._lock:
            if id in self._counting:
                return False
            self._counting.add(id)
            return True

    def _refresh(self, job: Job) -> None:
        try:
            # Once the counts are too old, a request counts itself, and gets the error.
            with suppress(Unavailable):
                self._count(job)
        finally:
            self._counting.discard(job.id)

    def _count(self, job: Job) -> Overview:
        began = time.monotonic()
        stored = stored_figures(self._bridge.store, job.id)
        seen = with_stored(self._bridge.fleet, self.job_status(job), stored)
        now = time.monotonic()
        if len(self._counted) >= _REMEMBERED:
            self._counted.clear()
        self._counted[job.id] = _Counted((seen.state, job.finished_at), now, now - began, seen)
        return seen

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


def register(over: Bridge, extensions: dict[str, Any]) -> None:
    extensions[_NAME] = Overviews(over)


def _overviews() -> Overviews:
    return cast(Overviews, current_app.extensions[_NAME])


_NAME = "shoal-overviews"
