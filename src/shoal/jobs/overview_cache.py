"""Remembers the overviews of jobs, so that people who look all the time cost a crawl nothing.

All figures of an overview are of one moment, at most some seconds ago. The state, and what the job waits for, are new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, replace

from shoal.jobs.deployment import Deployment, JobStatus
from shoal.jobs.job_overview import Overview, uncounted, with_stored
from shoal.jobs.job_series import job_series
from shoal.model import JobState
from shoal.store.jobs import Job
from shoal.store.results.job_figures import stored_figures

COUNTED_EVERY_S = 1.0
"""Counts are cached for this long, so that the rows of a job are not counted for every request."""
COUNTED_SHARE = 0.05
"""At most this share of the time is spent counting a job: a million pages take half a second."""
TOO_OLD = 2.0
"""Counts older than this many times the cache time are not returned. Younger ones are returned and refreshed in the
background, so that a client that polls never waits."""
PATIENCE_S = 0.06
"""A person who looks at a page waits so long for a count."""
_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class _Counted:
    key: tuple[JobState, float | None]
    at: float
    took_s: float
    seen: Overview

    def age(self, now: float) -> float:
        """In cache times; above 1 the counts must be refreshed."""
        return (now - self.at) / max(COUNTED_EVERY_S, self.took_s / COUNTED_SHARE)


class OverviewCache:
    def __init__(
        self,
        place: Callable[[], Deployment],
        status: Callable[[Job], JobStatus],
        background: Executor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`place` may raise Unavailable."""
        self._clock = clock
        self._place = place
        self._status = status
        self._counted: dict[str, _Counted] = {}
        self._counting: dict[str, Future[Overview]] = {}
        self._lock = threading.Lock()
        self._background = background

    def of(self, job: Job) -> Overview:
        """Counts the job's rows if nobody did so lately. Raises Unavailable."""
        status = self._status(job)
        return self._remembered(job, status) or self._count(job)

    def soon(self, job: Job) -> Overview:
        """Like `of`, but if counting takes long, it goes on in the background, and the overview has what is known
        without it."""
        status = self._status(job)
        if (seen := self._remembered(job, status)) is not None:
            return seen
        counting = self._start(job)
        wait([counting], PATIENCE_S)
        if counting.done():
            return counting.result()
        place = self._place()
        return uncounted(place, status, job_series(place.store, job))

    def _remembered(self, job: Job, status: JobStatus) -> Overview | None:
        known = self._counted.get(job.id)
        # The first request after a job has ended counts all of it.
        if known is None or known.key != (status.state, job.finished_at):
            return None
        age = known.age(self._clock())
        if age > TOO_OLD:
            return None
        if age > 1:
            # Once the counts are too old, a request counts itself, and gets the error.
            self._start(job)
        return replace(known.seen, job=job, state=status.state, limiting=status.limiting)

    def _start(self, job: Job) -> Future[Overview]:
        """Only the first caller starts a count; the others get the same."""
        with self._lock:
            if (running := self._counting.get(job.id)) is not None:
                return running
            started = self._counting[job.id] = self._background.submit(self._count, job)
        started.add_done_callback(lambda _: self._counting.pop(job.id, None))
        return started

    def _count(self, job: Job) -> Overview:
        began = self._clock()
        stored = stored_figures(self._place().store, job.id)
        seen = with_stored(self._place(), self._status(job), stored)
        now = self._clock()
        if len(self._counted) >= _REMEMBERED:
            self._counted.clear()
        self._counted[job.id] = _Counted((seen.state, job.finished_at), now, now - began, seen)
        return seen
