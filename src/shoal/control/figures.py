"""Jobs as the API tells of them: their figures from frontier and store, and without Redis as far as the store knows."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from flask import current_app

from shoal.control.bridge import Bridge
from shoal.control.ownership import shown_overview
from shoal.errors import FrontierLost, Unavailable
from shoal.jobs.overview import Overview, with_stored
from shoal.jobs.place import Standing, counted
from shoal.model import ENDED, JobState
from shoal.store.jobs import Job

COUNTED_EVERY_S = 1.0
"""The rows of a job are not counted anew for everybody who asks."""
COUNTED_SHARE = 0.05
"""Of the time, at most, goes into counting a job: a million pages take half a second."""
TOO_OLD = 2.0
"""Times the age at which a job is counted anew: nobody is told that. Until then it is counted aside, and who asks often
never waits for it."""
AWAY_S = 5.0
"""A Redis that did not answer is not asked again by readers for so long: each would wait two seconds for it."""
_REMEMBERED = 1_000


def figures_of(job: Job) -> dict[str, Any]:
    return overview_of(job).as_dict()


def overview_of(job: Job) -> Overview:
    return shown_overview(_overviews().of(job))


def standing_of(job: Job) -> Standing:
    return _overviews().standing(job)


@dataclass(frozen=True, slots=True)
class _Counted:
    key: tuple[JobState, float | None]
    at: float
    took_s: float
    seen: Overview

    @property
    def age(self) -> float:
        """1: it is time to count anew."""
        return (time.monotonic() - self.at) / max(COUNTED_EVERY_S, self.took_s / COUNTED_SHARE)


class Overviews:
    """Those that a process has been asked for, not counted anew for everybody."""

    def __init__(self, over: Bridge) -> None:
        self._bridge = over
        self._away_until = 0.0
        self._away = ""
        self._counted: dict[str, _Counted] = {}
        self._counting: set[str] = set()
        self._lock = threading.Lock()
        self._aside = ThreadPoolExecutor(1, "counting")

    def of(self, job: Job) -> Overview:
        stands = self.standing(job)
        known = self._counted.get(job.id)
        # One that has just ended is counted whole, by whoever asks first.
        if known is None or known.key != (stands.state, job.finished_at) or known.age > TOO_OLD:
            known = self._count(stands)
        elif known.age > 1 and self._takes_turn(job.id):
            self._aside.submit(self._count_aside, stands)
        return replace(known.seen, job=job, state=stands.state, frontier=stands.figures, limiting=stands.limiting)

    def _takes_turn(self, id: str) -> bool:
        """The first who asks does; all are told what is known meanwhile."""
        with self._lock:
            if id in self._counting:
                return False
            self._counting.add(id)
            return True

    def _count_aside(self, stands: Standing) -> None:
        try:
            # Whoever asks when it is too old counts by himself, and hears what is wrong.
            with suppress(Unavailable):
                self._count(stands)
        finally:
            self._counting.discard(stands.job.id)

    def _count(self, stands: Standing) -> _Counted:
        began = time.monotonic()
        seen = with_stored(self._bridge.fleet, stands)
        now = time.monotonic()
        if len(self._counted) >= _REMEMBERED:
            self._counted.clear()
        counted = _Counted((stands.state, stands.job.finished_at), now, now - began, seen)
        self._counted[stands.job.id] = counted
        return counted

    def standing(self, job: Job) -> Standing:
        if time.monotonic() < self._away_until:
            return self._by_store(job)
        try:
            return self._bridge.run(self._bridge.fleet.standing(job))
        except FrontierLost:
            raise
        except Unavailable as error:
            self._away, self._away_until = str(error), time.monotonic() + AWAY_S
            return self._by_store(job)

    def _by_store(self, job: Job) -> Standing:
        known = counted(self._bridge.store, job.id)
        if job.state in ENDED or job.state is JobState.PAUSED:
            return Standing(job, job.state, known, job.reason)
        return Standing(job, JobState.WAITING, known, f"{self._away}; what is queued is not known meanwhile")


def register(over: Bridge, extensions: dict[str, Any]) -> None:
    extensions[_NAME] = Overviews(over)


def _overviews() -> Overviews:
    return cast(Overviews, current_app.extensions[_NAME])


_NAME = "shoal-overviews"
