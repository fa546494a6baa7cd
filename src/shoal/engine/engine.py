"""The engine: keeps as many requests in progress as its limits allow.

    lease -> (robots) -> fetch -> landed -> extract -> store -> offer -> complete

`LeaseLoop` leases. `RequestPipeline` does the first half, one task per request. `ResultSaver` does the second half, in
batches. Everything is bounded: `concurrency` limits the fetches, and a multiple of it limits the results that are not
saved yet, so a slow store slows leasing down. `run` works on the given jobs until they are finished; `serve` works for
a fleet until it is stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.engine.active_job import ActiveJob
from shoal.engine.active_jobs import ActiveJobs
from shoal.engine.leasing.held_leases import HeldLeases
from shoal.engine.leasing.host_feedback import HostFeedback
from shoal.engine.leasing.lease_loop import LeaseLoop
from shoal.engine.leasing.leasing_wake import LeasingWake
from shoal.engine.leasing.overflow import Overflow
from shoal.engine.malloc import keep_freed_memory
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.periodic_tasks import DRAIN_S, READING_GRACE_S, PeriodicTasks
from shoal.engine.readers.pool import ReaderPool
from shoal.engine.reading.crash_marker import CrashMarker
from shoal.engine.request_result import RequestResult
from shoal.engine.saving.result_queue import ResultQueue
from shoal.engine.saving.result_saver import OnResult, ResultSaver
from shoal.engine.timed_event import TimedEvent
from shoal.frontier.contract import Frontier
from shoal.model import Lane
from shoal.store.async_store import AsyncStore
from shoal.telemetry import EventLogger

if TYPE_CHECKING:
    from shoal.engine.proxies.save_health import HealthChannel

FREED_BYTES = 8 << 20
"""Freed memory to keep for the next pages: several times what a page of 64 KB needs."""
SAVE_S = 10.0
"""How long an engine that stops for good waits for the store, after DRAIN_S for requests in flight."""

log = EventLogger(__name__)


def ignore(_: RequestResult) -> None:
    """For callers that do not need each result."""


@dataclass(slots=True, eq=False)
class Engine:
    """`make_engine` puts its parts together."""

    frontier: Frontier
    async_store: AsyncStore
    stop_event: TimedEvent
    wake: LeasingWake
    outages: OutageRetry
    active_jobs: ActiveJobs
    crash_marker: CrashMarker
    readers: ReaderPool
    results: ResultQueue
    host_feedback: HostFeedback
    overflow: Overflow
    held_leases: HeldLeases
    leasing: LeaseLoop
    saver: ResultSaver
    periodic_tasks: PeriodicTasks
    channel: HealthChannel | None
    ended: int = 0
    """Number of requests that ended here."""

    def add(self, active_job: ActiveJob) -> None:
        self.active_jobs.add(active_job)

    @property
    def stopping(self) -> bool:
        return self.stop_event.is_set()

    @property
    def in_flight(self) -> int:
        return self.held_leases.in_flight

    @property
    def unstored(self) -> int:
        """Number of results that wait to be stored."""
        return len(self.results)

    @property
    def is_idle(self) -> bool:
        """Nothing is leased, and nothing waits to be stored."""
        return not len(self.held_leases)

    @property
    def progressed_at(self) -> float:
        """When a lease was last requested or ended, by the monotonic clock. While reader processes read pages it is
        now: they have time limits of their own, and this process waits for nothing else."""
        if self.readers.is_busy:
            return time.monotonic()
        return max(self.leasing.leased_at, self.held_leases.ended_at)

    @property
    def waiting_for(self) -> str | None:
        """What keeps the engine from working at all, such as a full disk, as text for a person."""
        return self.outages.waiting_for

    def job_notes(self) -> dict[str, str]:
        """job -> the page whose reading takes long, or why no proxy works, as text for a person."""
        exits = {one.id: one.exits.pool.waiting for one in self.active_jobs if one.exits is not None}
        return {**self.readers.notes(), **{job: words for job, words in exits.items() if words}}

    def is_held(self, job: str) -> bool:
        """Whether this process holds leases of the job."""
        return self.active_jobs.is_held(job)

    def lane_of(self, job: str) -> Lane:
        """The lane of a job with requests in flight."""
        return self.active_jobs[job].spec.lane

    def stop(self) -> None:
        """Leases nothing more. `run` and `serve` return soon: leases that do not end within DRAIN_S are returned."""
        self.stop_event.set()
        self.wake.now()

    async def run(self, on_result: OnResult = ignore) -> dict[str, str]:
        """Works until every job is finished, or `stop` is called. Returns why each job has finished, without those that
        were stopped. Calls `on_result` with every result once it is saved."""
        finished: dict[str, str] = {}

        async def until_all_finished() -> None:
            while len(finished) < len(self.active_jobs) and not self.stop_event.is_set():
                if not await self.leasing.turn():
                    await self._note_finished(finished)
                    if len(finished) < len(self.active_jobs):
                        await self.leasing.wait()

        periodic = self.periodic_tasks
        tasks = [
            periodic.extend_leases(),
            periodic.end_at_time_limits(),
            periodic.reap(),
            periodic.offer_again(),
        ]
        if any(active_job.exits is not None for active_job in self.active_jobs):
            tasks.append(self._save_proxy_health())
        await self._work(until_all_finished(), [self._save(on_result), *tasks])
        return finished

    async def serve(self, on_result: OnResult = ignore) -> None:
        """Works on the lanes it is permitted to until `stop` is called."""

        async def until_stopped() -> None:
            while not self.stop_event.is_set():
                if not await self.leasing.turn():
                    await self.leasing.wait()

        periodic = self.periodic_tasks
        health = self._save_proxy_health()
        tasks = [self._save(on_result), periodic.extend_leases(), periodic.end_at_time_limits(), health]
        await self._work(until_stopped(), tasks)

    async def unload_idle(self, idle_s: float) -> None:
        """Unloads jobs from which nothing was leased for `idle_s`."""
        await self.active_jobs.unload_idle(idle_s)

    async def _work(self, turns: Coroutine[Any, Any, None], others: list[Coroutine[Any, Any, None]]) -> None:
        """Runs the leasing turns and the other tasks, and ends them all."""
        keep_freed_memory(FREED_BYTES)
        with self.crash_marker.with_faults():
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
                await self.held_leases.return_leases(self.held_leases.jobs)
                await self._finish(background, SAVE_S)
            await self.host_feedback.send()
        except self.outages.retried_errors as reason:
            if not self.stopping:
                raise
            # Results that could not be saved are still leased, and return later.
            log.warning("stopped_unsaved", f"stopped; requests in flight will be fetched again: {reason}")
        finally:
            self.held_leases.cancel()
            for task in (leasing, *background):
                task.cancel()
            await asyncio.gather(leasing, *background, *self.held_leases.tasks, return_exceptions=True)
            self.readers.close()

    async def _save(self, on_result: OnResult) -> None:
        def on_saved(result: RequestResult) -> None:
            self.ended += 1
            on_result(result)

        await self.saver.run(on_saved)

    async def _save_proxy_health(self) -> None:
        # Imported here only: few crawls have proxies.
        from shoal.engine.proxies.save_health import ProxyHealth

        await ProxyHealth(self.async_store, self.active_jobs, self.outages, self.channel).run()

    async def _finish(self, background: list[asyncio.Task[None]], within_s: float) -> None:
        """Waits for requests in flight, and if the engine is stopped, at most `within_s` from then on."""
        deadline: float | None = None
        while self.held_leases.tasks or len(self.results):
            _raise_fault(background)
            if self.stopping:
                self.readers.abandon(READING_GRACE_S)
                deadline = deadline or time.monotonic() + within_s
                if time.monotonic() > deadline:
                    return
            moving = [*self.held_leases.tasks, *background]
            await asyncio.wait(moving, timeout=0.02, return_when=asyncio.FIRST_COMPLETED)

    async def _note_finished(self, finished: dict[str, str]) -> None:
        for active_job in self.active_jobs:
            if active_job.id in finished or self.active_jobs.is_held(active_job.id):
                continue
            reason = await self.frontier.idle_reason(active_job.id)
            if reason == "empty" and await self.overflow.offer_again(active_job.id):
                continue
            if reason is not None and reason != "paused":
                finished[active_job.id] = reason


def _raise_fault(background: list[asyncio.Task[None]]) -> None:
    for task in background:
        if task.done():
            task.result()
