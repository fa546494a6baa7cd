"""The fleet's scheduler. Every other second it seeds new jobs, finishes completed ones, returns expired leases,
restores a lost frontier, starts the jobs of schedules, sends webhooks, delivers to sinks, and publishes slices for idle
processes.

Any number may run; the one that holds the lock acts. All of its actions are idempotent.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from celery import Celery

from shoal.engine.outage_retry import OutageRetry
from shoal.engine.timed_event import TimedEvent
from shoal.errors import FrontierFull, ShoalError, Unavailable
from shoal.fleet import roster, slice_queue
from shoal.fleet.deliver_sinks import FleetSinks
from shoal.fleet.fleet import BELL
from shoal.fleet.heartbeat_files import Heartbeat, machine, remove_dead
from shoal.fleet.job_lifecycle import JobLifecycle
from shoal.fleet.lost_machines import expire_lost_machines
from shoal.fleet.outage_log import OutageLog
from shoal.fleet.redis_owner import KEY, claim_redis
from shoal.fleet.schedules import Schedules
from shoal.fleet.scrapy_jobs import ScrapyAnnouncer
from shoal.fleet.wait_for_servers import ServerWait
from shoal.fleet.webhooks import Webhooks
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.redis.shard import TAG
from shoal.model import Lane
from shoal.settings import Settings
from shoal.store.archive.archive_folders import Archive
from shoal.store.async_store import AsyncStore
from shoal.store.fleet.scrapy_projects import remove_unused_packages
from shoal.store.job_removal import sweep_segments
from shoal.store.jobs import unfinished_jobs
from shoal.store.proxies.figures import prune_proxy_figures
from shoal.telemetry import EventLogger

EVERY_S = 2.0
BEAT_EVERY_S = 1.0
LOST_MACHINES_EVERY_S = 60.0
END_S = 2.0
LOCK = f"{TAG}:tend:lock"
LOCK_S = 10.0

log = EventLogger(__name__)


async def tend(app: Celery, settings: Settings, stopping: TimedEvent) -> None:
    """Runs until `stopping` is set."""
    heartbeat = Heartbeat(settings.home, "tend")
    remove_dead(settings.home, "tend")
    opening = ServerWait(settings, heartbeat, stopping.is_set, OutageLog(log))
    try:
        store = await opening.store()
        frontier = await opening.frontier(role_of=store)
    except ShoalError:
        heartbeat.end()
        raise
    if store is not None and frontier is not None:
        log.info("tend_began", f"scheduling the fleet's jobs; {settings.servers}")
        async_store = AsyncStore(store)
        archive = Archive.at(settings.archive_url, settings.home, settings.spool_bytes)
        webhooks = Webhooks(settings, async_store)
        sinks = FleetSinks(settings, async_store)
        schedules = Schedules(settings, async_store)
        await Tend(app, frontier, async_store, archive, heartbeat, stopping, schedules, webhooks, sinks).run()
        await webhooks.close()
        await sinks.close()
        await frontier.close()
        async_store.close()
        store.close()
    heartbeat.end()


class Tend:
    def __init__(
        self,
        app: Celery,
        frontier: RedisFrontier,
        async_store: AsyncStore,
        archive: Archive,
        heartbeat: Heartbeat,
        stopping: TimedEvent,
        schedules: Schedules,
        webhooks: Webhooks,
        sinks: FleetSinks,
    ) -> None:
        self._app = app
        self._frontier = frontier
        self._connection = frontier.connection
        self._async_store = async_store
        self._archive = archive
        self._heartbeat = heartbeat
        self._stopping = stopping
        self._schedules = schedules
        self._webhooks = webhooks
        self._sinks = sinks
        self._ring = asyncio.Event()
        self._outages = OutageRetry(self._stopping, (Unavailable,))
        self._lifecycle = JobLifecycle(frontier, async_store, self._outages, heartbeat.id, self._ring.set)
        self._scrapy = ScrapyAnnouncer(frontier, async_store)
        self._outage_log = OutageLog(log)
        self._rounded_at = self._lost_machines_at = time.monotonic()

    async def run(self) -> None:
        background = [asyncio.create_task(work) for work in (self._listen(), self._watch_stop(), self._beat())]
        try:
            while not self._stopping.is_set():
                self._ring.clear()
                await self._unless_stopped(self._round())
                if self._lifecycle.fault is not None:
                    raise self._lifecycle.fault
                self._rounded_at = time.monotonic()
                try:
                    async with asyncio.timeout(EVERY_S):
                        await self._ring.wait()
                except TimeoutError:
                    pass
        finally:
            tasks = [*background, *self._lifecycle.running]
            for task in tasks:
                task.cancel()
            # With a timeout: on Python 3.11 a cancel can be lost if it arrives just as a redis-py command ends.
            await asyncio.wait(tasks, timeout=END_S)
        await roster.remove(self._connection, self._heartbeat.id, LOCK, KEY)

    async def _unless_stopped(self, round: Coroutine[Any, Any, None]) -> None:
        """A round may wait long for a server. Cancelling it is safe: the next round repeats what was not finished."""
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
                self._lifecycle.stop_counting()
            self._outage_log.over()
        except Unavailable as reason:
            self._lifecycle.stop_counting()
            self._outage_log.waits(str(reason))
            if isinstance(reason, FrontierFull):
                await self._make_room()

    def _entry(self) -> roster.RosterEntry:
        return roster.RosterEntry(
            self._heartbeat.id, "tend", machine(), os.getpid(), waiting_for=self._outage_log.reason
        )

    async def _make_room(self) -> None:
        """Does what a full Redis still allows: returns expired leases and deletes the keys of ended jobs."""
        with suppress(Unavailable):
            await self._frontier.reap()

    async def _holds_lock(self) -> bool:
        mine = self._heartbeat.id.encode()
        if await self._connection.command("SET", LOCK, mine, "NX", "PX", int(LOCK_S * 1000)):
            return True
        if await self._connection.command("GET", LOCK) != mine:
            return False
        await self._connection.command("PEXPIRE", LOCK, int(LOCK_S * 1000))
        return True

    async def _tend(self) -> None:
        await claim_redis(self._connection, self._async_store.store)
        await self._schedules.fire()
        jobs = await self._async_store.read(unfinished_jobs)
        await self._lifecycle.advance(jobs)
        await self._scrapy.announce(jobs)
        await self._frontier.reap()
        await self._fill()
        await self._webhooks.deliver()
        await self._sinks.deliver()
        if time.monotonic() > self._lost_machines_at + LOST_MACHINES_EVERY_S and not self._lifecycle.running:
            self._lost_machines_at = time.monotonic()
            living = {entry.machine for entry in await roster.entries(self._connection)}
            await expire_lost_machines(
                self._async_store, self._frontier, self._archive, living, {job.id: job for job in jobs}
            )
            await self._async_store.run(sweep_segments, self._archive)
            await self._async_store.run(prune_proxy_figures, time.time())
            await self._async_store.run(remove_unused_packages, time.time())

    async def _fill(self) -> None:
        entries = await roster.entries(self._connection)
        # A slice may be taken by a process that has no browser, and ends there. Every idle process gets one.
        browser = any(entry.browser_pages for entry in entries)
        wanting = {lane for lane in Lane if await self._is_ready(lane, browser)}
        if not wanting:
            return
        for lane, idle in slice_queue.gaps(entries, wanting).items():
            missing = idle - await asyncio.to_thread(slice_queue.waiting, self._app, lane) if idle else 0
            if missing > 0:
                await asyncio.to_thread(slice_queue.publish, self._app, lane, missing)

    async def _is_ready(self, lane: Lane, browser: bool) -> bool:
        return slice_queue.is_work(await self._frontier.next_ready_in([lane], browser=browser))

    async def _beat(self) -> None:
        """A round may take long while many jobs are loaded; each loaded part counts as progress."""
        while True:
            waiting_for = self._outages.waiting_for or self._outage_log.reason
            moved_at = max(self._rounded_at, self._lifecycle.moved_at)
            self._heartbeat.progressed(time.monotonic() if waiting_for else moved_at, waiting_for)
            await asyncio.sleep(BEAT_EVERY_S)

    async def _watch_stop(self) -> None:
        await self._stopping.wait()
        self._ring.set()

    async def _listen(self) -> None:
        async for _ in self._connection.messages(BELL):
            self._ring.set()
