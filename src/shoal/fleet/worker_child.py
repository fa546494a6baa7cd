"""The crawling part of a worker's child process: an event loop in its own thread, which keeps its connections and its
requests in flight between slices.

A slice runs in Celery's thread and permits the loop to lease for a while. An unexpected exception ends the process:
Celery starts another, and the leases return.
"""

from __future__ import annotations

import asyncio
import os
import resource
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from shoal.engine.engine import SAVE_S
from shoal.engine.make_engine import make_engine
from shoal.engine.periodic_tasks import DRAIN_S
from shoal.engine.proxies.load_pool import ProxySettings
from shoal.engine.request_result import RequestResult
from shoal.errors import Unavailable
from shoal.fetch.open_file_limit import raise_open_files
from shoal.fleet import roster
from shoal.fleet.archive_spools import SpoolArchiver
from shoal.fleet.fleet import wake_tend
from shoal.fleet.heartbeat_files import Heartbeat, machine
from shoal.fleet.load_worker_jobs import FleetJobLoader
from shoal.fleet.metric_counters import Counters
from shoal.fleet.progress_clock import ProgressClock
from shoal.fleet.proxy_channel import RedisHealthChannel
from shoal.fleet.proxy_limits import RedisProxyLimits
from shoal.fleet.shared_stop_flag import stop_requested, stopping_since
from shoal.fleet.slice_queue import is_work
from shoal.fleet.wait_for_servers import ServerWait
from shoal.frontier.contract import ALL_LANES
from shoal.frontier.redis import RedisFrontier
from shoal.model import Lane
from shoal.settings import Settings
from shoal.spiders.run_event_loop import run_to_end
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.spools import ON_A_FLEET, Spools
from shoal.store.async_store import AsyncStore
from shoal.telemetry import EventLogger
from shoal.telemetry.recent_rate import RecentRate
from shoal.urls.exclusions import read_exclusions

if TYPE_CHECKING:
    from shoal.browser.browser_pool import BrowserPool

LOOK_EVERY_S = 0.25
IDLE_S = 2.0
"""A slice that finds no work for this long ends."""
UNLOAD_AFTER_S = 120.0
FINISH_EVERY_S = 2.0
EXIT_FAULT = 70

log = EventLogger(__name__)


class WorkerChild:
    def __init__(self, settings: Settings, lanes: Sequence[Lane]) -> None:
        self._settings = settings
        self._lanes = tuple(lanes)
        self._heartbeat = Heartbeat(settings.home, "child")
        self._loop = _new_event_loop()
        self._ready = asyncio.Event()
        self._stopping = False
        self._ended = threading.Event()
        self._lane: Lane | None = None
        self._news = asyncio.Event()
        self._busy_at = 0.0
        """When its slice last found work."""
        self._finds_work = True
        """Whether its slice found work when it last asked."""
        self._progress = ProgressClock(time.monotonic())
        self._reported_ended = 0
        self._rate = RecentRate(time.monotonic())
        self._is_express_over = False
        self._tally = Counters(self._heartbeat.id)
        self._thread = threading.Thread(target=self._run, name="crawl", daemon=True)
        self._thread.start()

    def slice(self, lane: Lane) -> bool:
        """Leases from this lane and every better one for the length of a slice. Returns whether work is left."""
        slice = asyncio.run_coroutine_threadsafe(self._slice(lane), self._loop)
        try:
            return slice.result()
        finally:
            # A slice that Celery interrupts must not revoke the permit of the next one.
            slice.cancel()

    def end(self) -> None:
        """Saves the requests in flight that finish in time, and releases the others."""
        self._stopping = True
        # The time counts from the stop signal: its slice may have waited for a server since then.
        since = stopping_since() or time.monotonic()
        self._ended.wait(max(0.0, since + DRAIN_S + SAVE_S - time.monotonic()))

    def _run(self) -> None:
        try:
            run_to_end(self._loop, self._loop.run_until_complete, self._work())
            if not self._is_over():
                raise RuntimeError("the crawl ended without a stop request")
            self._ended.set()
            # A slice may still wait for its result.
            self._loop.run_forever()
        except BaseException:
            # Any exception: the process must not continue without its crawl.
            log.exception("crawl_failed", "the crawl of this process failed; the process exits and is replaced")
            os._exit(EXIT_FAULT)

    async def _work(self) -> None:
        raise_open_files()
        opening = ServerWait(self._settings, self._heartbeat, self._is_over)
        store, frontier = await opening.store(), await opening.frontier()
        if store is None or frontier is None:
            return
        settings, async_store = self._settings, AsyncStore(store)
        archive = Archive.at(settings.archive_url, settings.home, settings.spool_bytes)
        self._spools = Spools(archive, machine(), ON_A_FLEET)
        loader = await self._make_loader(frontier, async_store)
        self._engine = make_engine(
            frontier,
            async_store,
            self._heartbeat.crash_marker,
            settings.concurrency,
            self._heartbeat.id,
            loader,
            browser_pages=lambda: self._browser_pages,
            channel=RedisHealthChannel(frontier.connection, self._heartbeat.id),
        )
        self._connection = frontier.connection
        self._ready.set()
        archiver = SpoolArchiver(async_store, self._spools)
        background = self._begin(*self._background_tasks(frontier, archiver, loader))
        try:
            await self._engine.serve(self._note_result)
            await self._engine.unload_idle(0.0)
            await archiver.seal_all()
        finally:
            await self._close(background, loader, async_store)
        await self._tally.flush(frontier)
        await roster.remove(frontier.connection, self._heartbeat.id)
        await frontier.close()
        store.close()
        self._end_heartbeat()

    async def _make_loader(self, frontier: RedisFrontier, async_store: AsyncStore) -> FleetJobLoader:
        settings = self._settings
        exclusions = read_exclusions(settings.exclusions)
        self._browser_pool = await self._open_browser_pool()
        return FleetJobLoader(
            async_store.store,
            async_store,
            self._spools,
            exclusions,
            settings.spiders,
            settings.allow_private,
            frontier.cancel,
            ProxySettings(settings.proxies, settings.secrets),
            RedisProxyLimits(frontier.connection, self._heartbeat.id),
            self._browser_pool,
        )

    def _background_tasks(
        self, frontier: RedisFrontier, archiver: SpoolArchiver, loader: FleetJobLoader
    ) -> Iterator[Coroutine[Any, Any, None]]:
        yield self._beat()
        yield self._enrol(frontier)
        yield self._unload_idle()
        yield archiver.run()
        yield self._run_on_finish(loader)
        if self._browser_pool is not None:
            yield self._browser_pool.start_when_possible()

    async def _close(
        self, background: list[asyncio.Task[None]], loader: FleetJobLoader, async_store: AsyncStore
    ) -> None:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await loader.close()
        if self._browser_pool is not None:
            await self._browser_pool.aclose()
        async_store.close()
        self._spools.close()

    async def _open_browser_pool(self) -> BrowserPool | None:
        """Starts the browser. None if this worker has none. If it does not start, the worker goes on without."""
        if not self._settings.rendering:
            return None
        # Imported here only: most workers have no browser.
        from shoal.browser.browser_pool import BrowserPool
        from shoal.browser.find_browser import BrowserMissing

        pool = BrowserPool(self._settings.user_agent, self._settings.browser, has_others=True)
        try:
            await pool.start()
        except BrowserMissing as missing:
            log.error("browser_missing", f"this process renders no pages until its browser starts: {missing}")
        return pool

    @property
    def _browser_pages(self) -> int:
        return 0 if self._browser_pool is None else self._browser_pool.pages

    def _begin(self, *works: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
        """Starts background tasks; the process ends if one of them fails."""
        tasks = [asyncio.create_task(work) for work in works]
        for task in tasks:
            task.add_done_callback(self._end_if_failed)
        return tasks

    def _end_heartbeat(self) -> None:
        if self._engine.is_idle:
            self._heartbeat.end()
        else:
            # Leases that could not be released return when the next worker on this machine finds this one dead.
            self._heartbeat.crash_marker.clear()

    async def _slice(self, lane: Lane) -> bool:
        deadline = time.monotonic() + self._settings.slice_s
        while not self._ready.is_set():
            if self._is_over() or time.monotonic() > deadline:
                return not self._is_over()
            await asyncio.sleep(LOOK_EVERY_S)
        lanes = ALL_LANES[: ALL_LANES.index(lane) + 1]
        began_at = self._busy_at = time.monotonic()
        self._finds_work = True
        self._engine.leasing.permit(lanes)
        self._work_in(lane)
        try:
            # The engine waits for Redis without limit, but a slice does not.
            async with asyncio.timeout(deadline - time.monotonic()):
                await self._until_idle(lanes)
            return False
        except TimeoutError:
            return self._busy_at > began_at and not self._engine.stopping
        finally:
            self._work_in(None)
            self._engine.leasing.permit(())

    async def _until_idle(self, lanes: Sequence[Lane]) -> None:
        """Returns early on a stop request, after which it waits for no server."""
        with suppress(Unavailable):
            while not self._engine.stopping and time.monotonic() - self._busy_at < IDLE_S:
                self._finds_work = not self._engine.is_idle or await self._is_there_work(lanes)
                if self._finds_work:
                    self._busy_at = time.monotonic()
                await self._wake_tend()
                await asyncio.sleep(LOOK_EVERY_S)

    def _note_result(self, end: RequestResult) -> None:
        lane = self._engine.lane_of(end.lease.job)
        self._tally.add(lane, end)
        if lane is Lane.EXPRESS and not self._engine.is_held(end.lease.job):
            self._is_express_over = True

    async def _wake_tend(self) -> None:
        """Wakes tend once when this process runs out of work, since a job may have ended; for express jobs also while
        others run."""
        is_done = self._engine.is_idle and self._engine.ended > self._reported_ended
        if is_done or self._is_express_over:
            self._reported_ended, self._is_express_over = self._engine.ended, False
            await self._engine.outages.keep_trying(wake_tend, self._connection)

    def _work_in(self, lane: Lane | None) -> None:
        self._lane = lane
        self._news.set()

    async def _is_there_work(self, lanes: Sequence[Lane]) -> bool:
        return is_work(await self._engine.leasing.ready_in(lanes))

    async def _beat(self) -> None:
        """Reports when the engine last made progress; that it reports at all shows that the loop runs."""
        while True:
            engine = self._engine
            has_work = not engine.is_idle or (self._lane is not None and self._finds_work)
            may_wait = engine.waiting_for is not None or not has_work
            progressed_at = self._progress.at(time.monotonic(), engine.progressed_at, may_wait)
            self._heartbeat.progressed(progressed_at, engine.waiting_for)
            if self._is_over():
                engine.stop()
            await asyncio.sleep(LOOK_EVERY_S)

    async def _enrol(self, frontier: RedisFrontier) -> None:
        while True:
            self._news.clear()
            await self._engine.outages.keep_trying(roster.write, frontier.connection, self._entry())
            await self._engine.outages.keep_trying(self._tally.send, frontier)
            try:
                # The start and end of a slice are written at once, so that tend sends no slice to a busy process.
                async with asyncio.timeout(roster.WRITE_EVERY_S):
                    await self._news.wait()
            except TimeoutError:
                pass

    def _entry(self) -> roster.RosterEntry:
        engine = self._engine
        return roster.RosterEntry(
            id=self._heartbeat.id,
            role="child",
            machine=machine(),
            pid=os.getpid(),
            lanes=self._lanes,
            lane=self._lane,
            in_flight=engine.in_flight,
            unstored=engine.unstored,
            ended=engine.ended,
            per_s=round(self._rate.per_s(time.monotonic(), engine.ended), 3),
            memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            browser_pages=self._browser_pages,
            browser_open=self._browser_pool.open if self._browser_pool is not None else 0,
            browser_fault=self._browser_pool.fault if self._browser_pool is not None else None,
            stopping=engine.stopping,
            waiting_for=engine.waiting_for,
            unloadable=dict(engine.held_leases.unloadable),
            reading=engine.job_notes(),
            archive_note=self._spools.note,
            spooled_bytes=self._spools.waiting_bytes,
            slots=self._settings.concurrency,
        )

    async def _unload_idle(self) -> None:
        while True:
            await asyncio.sleep(UNLOAD_AFTER_S / 4)
            await self._engine.outages.keep_trying(self._engine.unload_idle, UNLOAD_AFTER_S)

    async def _run_on_finish(self, loader: FleetJobLoader) -> None:
        """Only a process that can load a spider can run its hook: tend ends jobs, but loads no spider."""
        while True:
            await asyncio.sleep(FINISH_EVERY_S)
            with suppress(Unavailable):
                await loader.finish_ended()

    def _end_if_failed(self, task: asyncio.Task[None]) -> None:
        fault = None if task.cancelled() else task.exception()
        # After a stop request it waits for no server.
        if fault is not None and not (self._is_over() and isinstance(fault, Unavailable)):
            log.error("crawl_failed", f"the process exits and is replaced: {fault!r}")
            os._exit(EXIT_FAULT)

    def _is_over(self) -> bool:
        return self._stopping or stop_requested()


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
