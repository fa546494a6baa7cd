"""A fleet without processes: a private Redis, `shoal` that is told of it, and a test that plays tend and workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from shoal.engine.job_start import seed_offers, seeds_of, terms_of
from shoal.fleet.fleet import Fleet
from shoal.fleet.roster import RosterEntry, write
from shoal.frontier.contract import ALL_LANES, Caller
from shoal.frontier.redis.shard import TAG
from shoal.model import Completion, JobState, Lane, Lease, Outcome
from shoal.settings import Settings
from shoal.store.job_changes import mark_seeded
from shoal.store.job_state import set_state
from shoal.store.jobs import load_job
from tests.cli.conftest import Here
from tests.frontier.redis_server import RedisServer

T = TypeVar("T")


@dataclass
class FleetShell(Here):
    """`shoal` with the settings of a fleet."""

    redis: RedisServer
    database_url: str | None = None
    _caller: Caller = field(default_factory=lambda: Caller(f"test-{time.time()}"))

    @property
    def settings(self) -> Settings:
        return Settings(self.home, redis_url=self.redis.url, database_url=self.database_url)

    @property
    def environment(self) -> dict[str, str]:
        """What every process of the fleet is told."""
        database = {"SHOAL_DATABASE_URL": self.database_url} if self.database_url else {}
        return {**super().environment, "SHOAL_HOME": str(self.home), "SHOAL_REDIS_URL": self.redis.url, **database}

    def submit(self, *args: str) -> str:
        ran = self("submit", *args, "--json")
        assert ran.code == 0, ran.err
        (submitted,) = ran.lines
        return str(submitted["id"])

    def figures(self, job: str) -> dict[str, Any]:
        ran = self("job", job, "--json")
        assert ran.code == 0, ran.err
        (figures,) = ran.lines
        return dict(figures)

    def by_hand(self, act: Callable[[Fleet], Awaitable[T]]) -> T:
        async def run() -> T:
            async with self.opened() as fleet:
                return await act(fleet)

        return asyncio.run(run())

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Fleet]:
        fleet = Fleet(self.settings)
        try:
            yield fleet
        finally:
            await fleet.close()

    def begin(self, job: str) -> None:
        """As tend does."""

        async def act(fleet: Fleet) -> None:
            await fleet.frontier.open_job(job, terms_of(load_job(fleet.store, job).spec, 0.0))
            set_state(fleet.store, job, JobState.RUNNING, time.time())
            for seeds in seeds_of(fleet.store, job):
                await fleet.frontier.offer(self._caller.next(), seed_offers(load_job(fleet.store, job), seeds))
            mark_seeded(fleet.store, job)

        self.by_hand(act)

    def end(self, job: str, state: JobState, reason: str | None = None) -> None:
        async def act(fleet: Fleet) -> None:
            set_state(fleet.store, job, state, time.time(), reason)

        self.by_hand(act)

    def lease(self) -> list[Lease]:
        async def act(fleet: Fleet) -> list[Lease]:
            return await fleet.frontier.lease(self._caller.next(), 10)

        return self.by_hand(act)

    def complete(self, lease: Lease, outcome: Outcome = Outcome.DONE, **more: Any) -> None:
        """As a worker does that has stored the page."""

        async def act(fleet: Fleet) -> None:
            await fleet.frontier.complete(self._caller.next(), [Completion(lease.token, outcome, **more)])

        self.by_hand(act)

    def man(self, *lanes: Lane, tended: bool = True, tend_waits_for: str | None = None, **about: Any) -> None:
        """Writes down a worker for these lanes (all, if none is named) and a tend, for as long as the test takes."""

        async def act(fleet: Fleet) -> None:
            entries = [RosterEntry("child-here-1", "child", "here", 1, lanes or ALL_LANES, **about)]
            entries += [RosterEntry("tend-here-2", "tend", "here", 2, waiting_for=tend_waits_for)] if tended else []
            for entry in entries:
                await write(fleet.frontier.connection, entry)
                await fleet.frontier.connection.command("PERSIST", f"{TAG}:roster:{entry.id}")

        self.by_hand(act)


@contextmanager
def fleet_shell(folder: Path, database_url: str | None = None) -> Iterator[FleetShell]:
    (folder / "redis").mkdir()
    with RedisServer(folder / "redis") as redis:
        yield FleetShell(folder, redis, database_url)
