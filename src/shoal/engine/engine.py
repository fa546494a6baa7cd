"""The engine: keeps as many requests in progress as its limits allow.

    lease -> (robots) -> fetch -> landed -> extract -> store -> offer -> complete

`RequestPipeline` does the first half, one task per request. `ResultSaver` does the second half, in batches. Everything
is bounded: `concurrency` limits the fetches, and a multiple of it limits the results that are not saved yet, so a slow
store slows leasing down. `run` works on the given jobs until they are finished; `serve` works for a fleet until it is
stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from shoal.engine.active_job import ActiveJob
from shoal.engine.active_jobs import ActiveJobs, JobLoader
from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.held_leases import HeldLeases
from shoal.engine.leasing.host_feedback import HostFeedback
from shoal.engine.leasing.leasing_wake import LeasingWake
from shoal.engine.leasing.log_offers import OfferLog
from shoal.engine.leasing.overflow import Overflow
from shoal.engine.malloc import keep_freed_memory
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.periodic_tasks import DRAIN_S, READING_GRACE_S, PeriodicTasks
from shoal.engine.readers.pool import SECONDS, ReaderPool
from shoal.engine.reading.conditional_recrawl import Refresh
from shoal.engine.reading.crash_marker import CrashMarker
from shoal.engine.request_pipeline import RequestPipeline
from shoal.engine.request_result import RequestResult
from shoal.engine.robots.check import RobotsCheck
from shoal.engine.saving.result_queue import ResultQueue
from shoal.engine.saving.result_saver import OnResult, ResultSaver
from shoal.engine.timed_event import TimedEvent
from shoal.errors import Busy, DiskFull, ObjectStoreAway, Unavailable
from shoal.frontier.contract import ALL_LANES, HORIZON_S, Frontier
from shoal.model import Lane
from shoal.store.async_store import AsyncStore
from shoal.telemetry import EventLogger

if TYPE_CHECKING:
    from shoal.engine.proxies.save_health import HealthChannel

BACKLOG_PER_FETCH = 4
BACKLOG_BYTES = 32_000_000
"""Limit for pages that are read but not stored. A page with tens of thousands of links takes many times its size."""
READER_BACKLOG_BYTES = 64_000_000
"""Limit for big pages that wait for a reader, over all hosts."""
FREED_BYTES = 8 << 20
"""Freed memory to keep for the next pages: several times what a page of 64 KB needs."""
SLOW_AFTER_S = 5.0
SLOW_BYTES_PER_S = 10_000
MOST_SLOW = 3
"""A request that takes longer than SLOW_AFTER_S and has brought less than SLOW_BYTES_PER_S no longer counts as in
flight, up to this many times `concurrency`. Otherwise hosts that never answer, or send very slowly, would take every
slot for as long as a fetch may last."""
GATHER_S = 0.003
"""While many requests are in flight, landings are collected this long, so that one call reports several."""
POLL_S = 0.5
"""How often a waiting engine checks again."""
IDLE_S = 5.0
"""How long an engine with nothing in flight sleeps, unless the frontier wakes it."""
LEAD_S = 0.03
"""How long before its start a request is leased. A process that is late by less than this starts it as planned. The
sooner, the fewer requests come with each lease call, because their hosts have no free slot yet."""
SAVE_S = 10.0
"""How long an engine that stops for good waits for the store, after DRAIN_S for requests in flight."""

log = EventLogger(__name__)


def ignore(_: RequestResult) -> None:
    """For callers that do not need each result."""


class Engine:
    def __init__(
        self,
        frontier: Frontier,
        async_store: AsyncStore,
        crash_marker: CrashMarker,
        concurrency: int,
        caller: str,
        loader: JobLoader | None = None,
        reading_s: float = SECONDS,
        browser_pages: Callable[[], int] = lambda: 0,
        channel: HealthChannel | None = None,
    ) -> None:
        """With a loader it works for a fleet: it loads jobs when it leases their requests, and waits for servers that
        are away. `reading_s` is the CPU time that a reader process may spend on a page. `browser_pages` returns how
        many pages the browser of this process opens at a time; 0: it has none. `channel` passes on to other processes
        how proxies work."""
        self._frontier = frontier
        self._crash_marker = crash_marker
        self._concurrency = concurrency
        self._browser_pages = browser_pages
        self._stopping = TimedEvent()
        self._wake = LeasingWake()
        self._outages = OutageRetry(self._stopping, (Unavailable,) if loader else (DiskFull, Busy, ObjectStoreAway))
        self.keep_trying = self._outages.keep_trying
        """`await keep_trying(write, ...)` repeats a write that finds the disk full, or a database locked, until it
        succeeds."""
        self._frontier_client = FrontierClient(frontier, caller, self._outages)
        self._overflow = Overflow(self._frontier_client, async_store, self._outages)
        self.offer = self._overflow.offer
        """`await offer(offers)` queues them, even if the frontier has little room."""
        self._readers = ReaderPool(reading_s, shared=loader is not None)
        self._active_jobs = ActiveJobs(loader)
        self._host_feedback = HostFeedback(self._frontier_client, self._wake)
        self._results = ResultQueue()
        offer_log = OfferLog(async_store, self._outages)
        robots = RobotsCheck(frontier, async_store, self._outages)
        pipeline = RequestPipeline(
            frontier,
            self._frontier_client,
            self._overflow,
            offer_log,
            robots,
            crash_marker,
            self._readers,
            self._host_feedback,
            self._outages,
        )
        self._held_leases = HeldLeases(
            self._frontier_client,
            self._active_jobs,
            pipeline,
            Refresh(async_store, self._active_jobs, self._outages),
            self._results,
            self._host_feedback,
            self._outages,
            self._wake,
            concurrency,
        )
        self._saver = ResultSaver(
            self._results,
            self._held_leases,
            self._frontier_client,
            self._overflow,
            offer_log,
            async_store,
            self._active_jobs,
            self._outages,
        )
        self._periodic_tasks = PeriodicTasks(
            frontier, self._active_jobs, self._held_leases, self._overflow, self._readers, self._outages
        )
        self._async_store = async_store
        self._channel = channel
        self._lanes: Sequence[Lane] = ALL_LANES if loader is None else ()
        self._leased_at = time.monotonic()
        self.is_alone = False
        """No other process leases from the hosts of its jobs. Then it leases as far ahead as the frontier allows,
        several requests with one call. Otherwise it would always come before the others."""
        self._ready_in_s: float | None = None
        """Seconds until something may be leased, as of the last turn. None: only news can change that."""
        self.ended = 0
        """Number of requests that ended here."""
        self.unloadable = self._held_leases.unloadable
        """job -> why it cannot be worked on here."""

    def add(self, active_job: ActiveJob) -> None:
        self._active_jobs.add(active_job)

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def in_flight(self) -> int:
        return self._held_leases.in_flight

    @property
    def unstored(self) -> int:
        """Number of results that wait to be stored."""
        return len(self._results)

    @property
    def is_idle(self) -> bool:
        """Nothing is leased, and nothing waits to be stored."""
        return not len(self._held_leases)

    @property
    def progressed_at(self) -> float:
        """When a lease was last requested or ended, by the monotonic clock. While reader processes read pages it is
        now: they have time limits of their own, and this process waits for nothing else."""
        if self._readers.is_busy:
            return time.monotonic()
        return max(self._leased_at, self._held_leases.ended_at)

    @property
    def waiting_for(self) -> str | None:
        """What keeps the engine from working at all, such as a full disk, as text for a person."""
        return self._outages.waiting_for

    def job_notes(self) -> dict[str, str]:
        """job -> the page whose reading takes long, or why no proxy works, as text for a person."""
        exits = {one.id: one.exits.pool.waiting for one in self._active_jobs if one.exits is not None}
        return {**self._readers.notes(), **{job: words for job, words in exits.items() if words}}

    def is_held(self, job: str) -> bool:
        """Whether this process holds leases of the job."""
        return self._active_jobs.is_held(job)

    def lane_of(self, job: str) -> Lane:
        """The lane of a job with requests in flight."""
        return self._active_jobs[job].spec.lane

    def permit(self, lanes: Sequence[Lane]) -> None:
        """Leases from these lanes from now on. Requests in flight go on in any case."""
        self._lanes = lanes
        self._wake.now()

    def stop(self) -> None:
        """Leases nothing more. `run` and `serve` return soon: leases that do not end within DRAIN_S are returned."""
        self._stopping.set()
        self._wake.now()

    async def run(self, on_result: OnResult = ignore) -> dict[str, str]:
        """Works until every job is finished, or `stop` is called. Returns why each job has finished, without those that
        were stopped. Calls `on_result` with every result once it is saved."""
        finished: dict[str, str] = {}

        async def until_all_finished() -> None:
            while len(finished) < len(self._active_jobs) and not self._stopping.is_set():
                if not await self._turn():
                    await self._note_finished(finished)
                    if len(finished) < len(self._active_jobs):
                        await self._idle()

        periodic = self._periodic_tasks
        tasks = [
            periodic.extend_leases(),
            periodic.end_at_time_limits(),
            periodic.reap(),
            periodic.offer_again(),
        ]
        if any(active_job.exits is not None for active_job in self._active_jobs):
            tasks.append(self._save_proxy_health())
        await self._work(until_all_finished(), [self._save(on_result), *tasks])
        return finished

    async def serve(self, on_result: OnResult = ignore) -> None:
        """Works on the lanes it is permitted to until `stop` is called."""

        async def until_stopped() -> None:
            while not self._stopping.is_set():
                if not await self._turn():
                    await self._idle()

        periodic = self._periodic_tasks
        health = self._save_proxy_health()
        tasks = [self._save(on_result), periodic.extend_leases(), periodic.end_at_time_limits(), health]
        await self._work(until_stopped(), tasks)

    async def ready_in(self, lanes: Sequence[Lane]) -> float | None:
        """Seconds until a request of these lanes may be leased."""

        async def ready_in() -> float | None:
            return await self._frontier.next_ready_in(lanes, browser=self._browser_room > 0)

        return await self.keep_trying(ready_in)

    async def unload_idle(self, idle_s: float) -> None:
        """Unloads jobs from which nothing was leased for `idle_s`."""
        await self._active_jobs.unload_idle(idle_s)

    async def _work(self, turns: Coroutine[Any, Any, None], others: list[Coroutine[Any, Any, None]]) -> None:
        """Runs the leasing turns and the other tasks, and ends them all."""
        keep_freed_memory(FREED_BYTES)
        with self._crash_marker.with_faults():
            await self._work_until_stopped(turns, others)

    async def _work_until_stopped(
        self, turns: Coroutine[Any, Any, None], others: list[Coroutine[Any, Any, None]]
    ) -> None:
        leasing = asyncio.create_task(turns)
        background = [asyncio.create_task(other) for other in others]
        try:
            await asyncio.wait([leasing, *background], return_when=asyncio.FIRST_COMPLETED)
            _raise_fault([leasing, *background])
            await self._finish(background, DRAIN_S)
            if self.stopping:
                await self._held_leases.return_leases(self._held_leases.jobs)
                await self._finish(background, SAVE_S)
            await self._host_feedback.send()
        except self._outages.retried_errors as reason:
            if not self.stopping:
                raise
            # Results that could not be saved are still leased, and return later.
            log.warning("stopped_unsaved", f"stopped; requests in flight will be fetched again: {reason}")
        finally:
            self._held_leases.cancel()
            for task in (leasing, *background):
                task.cancel()
            await asyncio.gather(leasing, *background, *self._held_leases.tasks, return_exceptions=True)
            self._readers.close()

    async def _save(self, on_result: OnResult) -> None:
        def on_saved(result: RequestResult) -> None:
            self.ended += 1
            on_result(result)

        await self._saver.run(on_saved)

    async def _save_proxy_health(self) -> None:
        # Imported here only: few crawls have proxies.
        from shoal.engine.proxies.save_health import ProxyHealth

        await ProxyHealth(self._async_store, self._active_jobs, self._outages, self._channel).run()

    async def _finish(self, background: list[asyncio.Task[None]], within_s: float) -> None:
        """Waits for requests in flight, and if the engine is stopped, at most `within_s` from then on."""
        deadline: float | None = None
        while self._held_leases.tasks or len(self._results):
            _raise_fault(background)
            if self.stopping:
                self._readers.abandon(READING_GRACE_S)
                deadline = deadline or time.monotonic() + within_s
                if time.monotonic() > deadline:
                    return
            moving = [*self._held_leases.tasks, *background]
            await asyncio.wait(moving, timeout=0.02, return_when=asyncio.FIRST_COMPLETED)

    @property
    def _free_slots(self) -> int:
        """How many more requests may be leased."""
        if self._results.bytes > BACKLOG_BYTES or self._readers.held_bytes > READER_BACKLOG_BYTES or self.waiting_for:
            return 0
        fetchers = {active_job.fetcher for active_job in self._active_jobs}
        if any(fetcher.is_full for fetcher in fetchers):
            return 0
        unsaved = BACKLOG_PER_FETCH * self._concurrency - len(self._results)
        if not self._held_leases.is_busy:
            # Enough, however many of them are slow.
            return max(0, min(self._concurrency - self.in_flight, unsaved))
        slow = sum(fetcher.slow(SLOW_AFTER_S, SLOW_BYTES_PER_S) for fetcher in fetchers)
        # Pages that a reader process reads, or that wait for one, need no connection either.
        in_flight = self.in_flight - min(slow + len(self._readers), MOST_SLOW * self._concurrency)
        return max(0, min(self._concurrency - in_flight, unsaved))

    @property
    def _browser_room(self) -> int:
        """How many more requests that need a browser may be leased: a page more waits for each open one."""
        return max(0, 2 * self._browser_pages() - self._held_leases.rendered)

    async def _turn(self) -> bool:
        """Leases what may start soon. Returns False if there was nothing to lease.

        It asks first when that is: a lease call that finds nothing costs several times as much. While many requests are
        in flight, most calls find something.
        """
        self._wake.clear()
        await self._host_feedback.send()
        room = self._free_slots
        self._wake.has_room = room > 0
        self._ready_in_s = None
        if not room or not self._lanes:
            return False
        if not self._held_leases.is_busy and not await self._is_ready_within(self._lead_s):
            return False
        asked_at = time.monotonic()
        leases = await self._frontier_client.lease(room, self._lanes, self._browser_room)
        self._leased_at = time.monotonic()
        await self._held_leases.add(leases, asked_at)
        if leases and self._held_leases.is_busy:
            await asyncio.sleep(GATHER_S)
        elif leases and len(leases) < room:
            # Seldom: this was all.
            return await self._is_ready_within(self._lead_s)
        elif not leases:
            await self._is_ready_within(0.0)
        return bool(leases)

    @property
    def _lead_s(self) -> float:
        """How long before its start a request may be leased. While another one waits for its start, the call can wait
        too, and then serves several."""
        return HORIZON_S if self.is_alone and not self._held_leases.wait_for_start else LEAD_S

    async def _is_ready_within(self, seconds: float) -> bool:
        ready_in_s = await self.ready_in(self._lanes)
        self._ready_in_s = None if ready_in_s is None else max(0.0, ready_in_s - seconds)
        return ready_in_s is not None and ready_in_s <= seconds

    async def _note_finished(self, finished: dict[str, str]) -> None:
        for active_job in self._active_jobs:
            if active_job.id in finished or self._active_jobs.is_held(active_job.id):
                continue
            reason = await self._frontier.idle_reason(active_job.id)
            if reason == "empty" and await self._overflow.offer_again(active_job.id):
                continue
            if reason is not None and reason != "paused":
                finished[active_job.id] = reason

    async def _idle(self) -> None:
        """Waits until something here ends, or something may be leased."""
        wait_s = POLL_S if self._ready_in_s is None else min(self._ready_in_s, POLL_S)
        if wait_s == POLL_S and self._lanes and self.is_idle and self._wake.has_room:
            await self._sleep()
        else:
            await self._wake.wait(wait_s)

    async def _sleep(self) -> None:
        """Only with nothing in flight: otherwise the offers of other workers would wake it all the time."""
        # A job with a time limit also ends while it waits.
        timed = any(active_job.spec.limits.seconds is not None for active_job in self._active_jobs)
        sleeping = asyncio.create_task(
            self._frontier.wait(POLL_S if timed else IDLE_S, self._lanes, browser=self._browser_room > 0)
        )
        waking = asyncio.create_task(self._wake.wait())
        try:
            await asyncio.wait([sleeping, waking], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            waking.cancel()
            await asyncio.gather(sleeping, waking, return_exceptions=True)


def _raise_fault(background: list[asyncio.Task[None]]) -> None:
    for task in background:
        if task.done():
            task.result()
