"""The fleet as a place of jobs: its store, its frontier in Redis, its archive, and the word of an operator.

Nothing is asked of a server before it is needed, and one that is away is an error after two seconds, by its name and
address. Celery is not imported here: commands look and steer without it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shoal.errors import FrontierFull, FrontierLost, Unavailable, UsageError
from shoal.fleet.changes import change_job
from shoal.fleet.hindrance import hindrance, slow_reading
from shoal.fleet.roster import Entry, entries
from shoal.frontier.redis import Bounds, RedisFrontier
from shoal.frontier.redis.connection import Connection
from shoal.frontier.redis.shard import TAG
from shoal.jobs.place import Standing, counted, make_folder, nothing_to
from shoal.model import ENDED, Figures, JobState
from shoal.settings import Settings
from shoal.store.archive.archive import Archive
from shoal.store.jobs import Job, load_job, steer
from shoal.store.offers import forget_offers
from shoal.store.store import Store

BELL = f"{TAG}:tend"
"""Channel on which tend is rung by whoever has something to be tended at once."""
KNOWN_S = 1.0
"""Who is at work, and whether Redis has room, is not asked anew for every job that is looked at."""
_BOUNDS = Bounds(connections=2, answer_s=2.0, patience_s=2.0)


async def ring(connection: Connection) -> None:
    await connection.command("PUBLISH", BELL, "")


@dataclass(frozen=True, slots=True)
class _Circumstances:
    """Of all jobs alike."""

    at: float
    full: str | None
    """In words, that Redis has no room."""
    roster: list[Entry]

    def hindrance(self, job: Job, figures: Figures) -> str | None:
        # Without room nobody can write down that they are at work, either.
        return self.full or hindrance(job, figures, self.roster)


class Fleet:
    def __init__(self, settings: Settings, store: Store | None = None) -> None:
        """A store that is given stays open when the fleet is closed."""
        if settings.redis_url is None:
            raise UsageError(
                "there is no fleet: SHOAL_REDIS_URL is not set; `shoal up` starts one on this machine, and "
                "`shoal crawl` does without"
            )
        self._redis_url = settings.redis_url
        self.settings = settings
        self._given_store = store
        self._known: _Circumstances | None = None
        self.archive = Archive.at(settings.archive_url, settings.home)

    @cached_property
    def store(self) -> Store:
        if self._given_store is not None:
            return self._given_store
        if self.settings.database_url is not None:
            return Store.open(self.settings.database_url)
        make_folder(self.settings.home)
        return Store.open(self.settings.home / "shoal.db")

    @cached_property
    def frontier(self) -> RedisFrontier:
        return RedisFrontier(self._redis_url, _BOUNDS)

    async def close(self) -> None:
        self.archive.close()
        if frontier := self.__dict__.pop("frontier", None):
            await frontier.close()
        store = self.__dict__.pop("store", None)
        if store is not None and store is not self._given_store:
            store.close()

    async def ring(self) -> None:
        """Lets tend look at once at what is new; without it, tend would find the same a few seconds later."""
        await ring(self.frontier.connection)

    async def standing(self, job: Job) -> Standing:
        paused, lost, limiting = job.state is JobState.PAUSED, None, None
        try:
            figures, rest, limiting = await self.frontier.outlook(job.id)
            paused = paused or rest == "paused"
        except FrontierLost as error:
            # It has not begun, went when it had ended, or is being restored.
            figures = await asyncio.to_thread(counted, self.store, job.id) if job.started_at else Figures()
            lost = str(error) if job.started_at else None
        if job.state in ENDED:
            return Standing(job, job.state, figures, job.reason)
        if paused:
            return Standing(job, JobState.PAUSED, figures, None)
        if job.awaits_urls:
            return Standing(job, JobState.WAITING, figures, f"it has no URLs yet: POST /api/v1/jobs/{job.id}/urls")
        hindered = await self._hindrance(job, figures) or lost
        if hindered:
            return Standing(job, JobState.WAITING, figures, hindered)
        reading = slow_reading(job, self._known.roster) if self._known else None
        return Standing(job, job.state, figures, (reading or limiting) if job.state is JobState.RUNNING else None)

    async def _hindrance(self, job: Job, figures: Figures) -> str | None:
        known = self._known
        if known and time.monotonic() - known.at < KNOWN_S and not known.hindrance(job, figures):
            return None
        # Who is told that something is wrong must not be told of what was.
        connection = self.frontier.connection
        full = str(FrontierFull(connection.address)) if await connection.memory_is_full() else None
        self._known = _Circumstances(time.monotonic(), full, await entries(connection))
        return self._known.hindrance(job, figures)

    async def pause(self, job: Job) -> str:
        _check_not_ended("pause", job)
        # One that the frontier does not know, because it is new or lost, is given to it when it goes on.
        with suppress(FrontierLost):
            await self.frontier.pause(job.id)
        self._steer("pause", job, JobState.PAUSED)
        return f"job {job.id} is paused; workers finish what they have in flight"

    async def resume(self, job: Job) -> str:
        _check_not_ended("resume", job)
        # The store first: whoever tends the fleet pauses what the store says is paused.
        self._steer("resume", job, JobState.RUNNING if job.started_at else JobState.QUEUED)
        with suppress(FrontierLost):
            await self.frontier.resume(job.id)
        await self.ring()
        return f"job {job.id} goes on"

    async def change_limits(self, job: Job, limits: Mapping[str, Any]) -> None:
        await change_job(self, job.id, lambda spec: spec.with_limits(limits), None)

    async def cancel(self, job: Job) -> str:
        _check_not_ended("cancel", job)
        with suppress(FrontierLost):
            await self.frontier.cancel(job.id)
        self._steer("cancel", job, JobState.CANCELLED)
        # Kept for rebuilding it, which nobody will.
        forget_offers(self.store, job.id)
        await self.ring()
        return f"job {job.id} is cancelled; workers save what they have in flight"

    def _steer(self, wish: str, job: Job, state: JobState) -> None:
        if not steer(self.store, job.id, state, time.time()):
            raise UsageError(nothing_to(wish, job, load_job(self.store, job.id).state))

    @contextmanager
    def at_rest(self, job: Job) -> Iterator[None]:
        if job.state not in ENDED:
            raise Unavailable(
                f"job {job.id} is {job.state}: wait until it has ended (`shoal watch {job.id}`), or end it "
                f"(`shoal cancel {job.id}`)"
            )
        yield

    @asynccontextmanager
    async def reopened(self, job: Job) -> AsyncIterator[JobState]:
        yield JobState.RUNNING
        # Workers load the spider anew: it may have been mended.
        await self.frontier.touch(job.id)
        await self.ring()


def _check_not_ended(wish: str, job: Job) -> None:
    if job.state in ENDED:
        raise UsageError(nothing_to(wish, job, job.state))
