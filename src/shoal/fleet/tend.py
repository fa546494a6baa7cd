"""What keeps a fleet going besides its workers: seeds new jobs, ends finished ones, returns expired leases, restores a
lost frontier, begins the jobs of schedules, tells webhooks, and publishes slices where processes rest and work is
ready.

Any number may run; one at a time holds the lock, and everything it does can be done twice without harm.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from celery import Celery

from shoal.engine.patience import Patience
from shoal.errors import FrontierFull, ShoalError, Unavailable
from shoal.fleet import roster, slices
from shoal.fleet.care import Care
from shoal.fleet.claim import KEY, claim
from shoal.fleet.life import Life, bury_dead, machine
from shoal.fleet.machines import mourn_machines
from shoal.fleet.opening import Opening
from shoal.fleet.place import BELL
from shoal.fleet.schedules import Schedules
from shoal.fleet.trouble import Trouble
from shoal.fleet.webhooks import Webhooks
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.redis.shard import TAG
from shoal.model import Lane
from shoal.settings import Settings
from shoal.store.archive.archive import Archive
from shoal.store.jobs import unfinished
from shoal.store.removal import sweep_segments
from shoal.store.writer import Writer
from shoal.telemetry import Events

EVERY_S = 2.0
BEAT_EVERY_S = 1.0
MOURN_EVERY_S = 60.0
END_S = 2.0
LOCK = f"{TAG}:tend:lock"
LOCK_S = 10.0

log = Events(__name__)


async def tend(app: Celery, settings: Settings, stopping: asyncio.Event) -> None:
    """Until stopped."""
    life = Life(settings.home, "tend")
    bury_dead(settings.home, "tend")
    opening = Opening(settings, life, stopping.is_set, Trouble(log))
    try:
        store = await opening.store()
        frontier = await opening.frontier(role_of=store)
    except ShoalError:
        life.end()
        raise
    if store is not None and frontier is not None:
        log.info("tend_began", f"tending; {settings.servers}")
        writer = Writer(store)
        archive = Archive.at(settings.archive_url, settings.home)
        webhooks = Webhooks(settings, writer)
        await Tend(app, frontier, writer, archive, life, stopping, Schedules(settings, writer), webhooks).run()
        await webhooks.close()
        await frontier.close()
        writer.close()
        store.close()
    life.end()


class Tend:
    def __init__(
        self,
        app: Celery,
        frontier: RedisFrontier,
        writer: Writer,
        archive: Archive,
        life: Life,
        stopping: asyncio.Event,
        schedules: Schedules,
        webhooks: Webhooks,
    ) -> None:
        self._app = app
        self._frontier = frontier
        self._connection = frontier.connection
        self._writer = writer
        self._archive = archive
        self._life = life
        self._stopping = stopping
        self._schedules = schedules
        self._webhooks = webhooks
        self._ring = asyncio.Event()
        self._patience = Patience(self._stopping, (Unavailable,))
        self._care = Care(frontier, writer, self._patience, life.id, self._ring.set)
        self._trouble = Trouble(log)
        self._rounded_at = self._mourned_at = time.monotonic()

    async def run(self) -> None:
        beside = [asyncio.create_task(work) for work in (self._listen(), self._heed_stop(), self._beat())]
        try:
            while not self._stopping.is_set():
                self._ring.clear()
                await self._unless_stopped(self._round())
                if self._care.fault is not None:
                    raise self._care.fault
                self._rounded_at = time.monotonic()
                try:
                    async with asyncio.timeout(EVERY_S):
                        await self._ring.wait()
                except TimeoutError:
                    pass
        finally:
            ending = [*beside, *self._care.under_way]
            for task in ending:
                task.cancel()
            # Not for ever: on Python 3.11 a cancel that meets the end of a command of redis-py can be lost.
            await asyncio.wait(ending, timeout=END_S)
        await roster.remove(self._connection, self._life.id, LOCK, KEY)

    async def _unless_stopped(self, round: Coroutine[Any, Any, None]) -> None:
        """A round may wait long for a server; what it has begun is done once more by the next."""
        ends = {asyncio.create_task(round), asyncio.create_task(self._stopping.wait())}
        done, left = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for task in done:
            task.result()

    async def _round(self) -> None:
        try:
            await roster.write(self._connection, self._entry())
            if await self._holds_lock():
                await self._tend()
            else:
                self._care.stop_counting()
            self._trouble.over()
        except Unavailable as reason:
            self._care.stop_counting()
            self._trouble.waits(str(reason))
            if isinstance(reason, FrontierFull):
                await self._make_room()

    def _entry(self) -> roster.Entry:
        return roster.Entry(self._life.id, "tend", machine(), os.getpid(), waiting_for=self._trouble.reason)

    async def _make_room(self) -> None:
        """What a full Redis allows: leases that expired return, and the keys of ended jobs go."""
        with suppress(Unavailable):
            await self._frontier.reap()

    async def _holds_lock(self) -> bool:
        mine = self._life.id.encode()
        if await self._connection.command("SET", LOCK, mine, "NX", "PX", int(LOCK_S * 1000)):
            return True
        if await self._connection.command("GET", LOCK) != mine:
            return False
        await self._connection.command("PEXPIRE", LOCK, int(LOCK_S * 1000))
        return True

    async def _tend(self) -> None:
        await claim(self._connection, self._writer.store)
        await self._schedules.fire()
        jobs = await self._writer.read(unfinished)
        await self._care.take(jobs)
        await self._frontier.reap()
        await self._fill()
        await self._webhooks.deliver()
        if time.monotonic() > self._mourned_at + MOURN_EVERY_S and not self._care.under_way:
            self._mourned_at = time.monotonic()
            living = {entry.machine for entry in await roster.entries(self._connection)}
            await mourn_machines(self._writer, self._frontier, self._archive, living, {job.id: job for job in jobs})
            await self._writer.run(sweep_segments, self._archive)

    async def _fill(self) -> None:
        wanting = {lane for lane in Lane if await self._is_ready(lane)}
        if not wanting:
            return
        for lane, idle in slices.gaps(await roster.entries(self._connection), wanting).items():
            missing = idle - await asyncio.to_thread(slices.waiting, self._app, lane) if idle else 0
            if missing > 0:
                await asyncio.to_thread(slices.publish, self._app, lane, missing)

    async def _is_ready(self, lane: Lane) -> bool:
        return slices.is_work(await self._frontier.next_ready_in([lane]))

    async def _beat(self) -> None:
        """A round may take long while much is brought in, as long as that moves."""
        while True:
            waiting_for = self._patience.waiting_for or self._trouble.reason
            moved_at = max(self._rounded_at, self._care.moved_at)
            self._life.progressed(time.monotonic() if waiting_for else moved_at, waiting_for)
            await asyncio.sleep(BEAT_EVERY_S)

    async def _heed_stop(self) -> None:
        await self._stopping.wait()
        self._ring.set()

    async def _listen(self) -> None:
        async for _ in self._connection.rings(BELL):
            self._ring.set()
