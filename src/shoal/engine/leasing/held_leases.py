"""The leases that this process holds, and their tasks. Only this module holds, extends and returns leases.

If a lease's job is not loaded here, or has changed since, the lease waits until the job is loaded. Others do not wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Coroutine, Sequence
from typing import Any

from shoal.engine.active_jobs import ActiveJobs
from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.host_feedback import HostFeedback
from shoal.engine.leasing.leasing_wake import LeasingWake
from shoal.engine.leasing.start_times import LeaseTiming
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.reading.conditional_recrawl import KnownPage, Refresh
from shoal.engine.request_pipeline import RequestPipeline, ReturnLease
from shoal.engine.request_result import put_off
from shoal.engine.saving.result_queue import ResultQueue
from shoal.engine.shape_statistics import LAST_OF_ALL
from shoal.errors import ShoalError
from shoal.model import Landing, Lease

UNLOADABLE_WAIT_S = 2.0
"""How long other workers get to fetch from the hosts of a job that cannot be worked on here."""
MOST_UNLOADABLE = 1_000
"""How many such jobs to remember, the last ones tried. For others there is no reason to show."""


class HeldLeases:
    def __init__(
        self,
        frontier_client: FrontierClient,
        active_jobs: ActiveJobs,
        pipeline: RequestPipeline,
        refresh: Refresh,
        results: ResultQueue,
        host_feedback: HostFeedback,
        outages: OutageRetry,
        wake: LeasingWake,
        concurrency: int,
    ) -> None:
        """Wakes when a lease is removed: there is room for another."""
        self._frontier_client = frontier_client
        self._active_jobs = active_jobs
        self._pipeline = pipeline
        self._refresh = refresh
        self._results = results
        self._host_feedback = host_feedback
        self._outages = outages
        self._wake = wake
        self._concurrency = concurrency
        self._held: dict[int, Lease] = {}
        self._one_ended = asyncio.Event()
        """Set and replaced whenever leases are removed."""
        self.tasks: dict[asyncio.Task[None], str] = {}
        """task -> job"""
        self._rendering: set[asyncio.Task[None]] = set()
        """Tasks of pages that a browser loads."""
        self.ended_at = time.monotonic()
        self._last_start_at = 0.0
        """When the last of the leases may start, by the monotonic clock."""
        self.unloadable: dict[str, str] = {}

    def __len__(self) -> int:
        """Includes leases whose results wait to be saved."""
        return len(self._held)

    @property
    def in_flight(self) -> int:
        """Without leases whose results wait to be saved."""
        return len(self._held) - len(self._results)

    @property
    def rendered(self) -> int:
        """Requests in flight for pages that a browser loads."""
        return len(self._rendering)

    @property
    def is_busy(self) -> bool:
        """Many requests are in flight, so a call that waits a moment will serve several."""
        return self.in_flight > self._concurrency // 2

    @property
    def wait_for_start(self) -> bool:
        """Whether a lease is too early to start."""
        return time.monotonic() < self._last_start_at

    @property
    def jobs(self) -> set[str]:
        return {lease.job for lease in self._held.values()}

    async def add(self, leases: Sequence[Lease], asked_at: float) -> None:
        """`asked_at` is when the leases were requested from the frontier."""
        now = time.monotonic()
        timing = LeaseTiming(asked_at, now)
        self._last_start_at = max([self._last_start_at, *(now + lease.wait_s for lease in leases)])
        self._held.update((lease.token, lease) for lease in leases)
        self._active_jobs.hold(leases)
        current = [lease for lease in leases if self._active_jobs.is_current(lease)]
        if len(current) < len(leases):
            others = [lease for lease in leases if not self._active_jobs.is_current(lease)]
            for job in {lease.job for lease in others}:
                # In a task of its own: loading may take a while, and other jobs must not wait for it.
                self._start(job, self._begin_when_current([lease for lease in others if lease.job == job], timing))
        await self._begin(current, timing)

    def remove(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._active_jobs.let_go(self._held.pop(token).job)
        self._one_ended.set()
        self._one_ended = asyncio.Event()
        self.ended_at = time.monotonic()
        self._wake.now()

    async def extend(self) -> None:
        if self._held:
            await self._frontier_client.extend(list(self._held))

    async def send_host_feedback(self) -> None:
        await self._host_feedback.send()

    def take_landings(self) -> list[Landing]:
        """For a caller that sends them itself."""
        return self._host_feedback.take()

    async def return_leases(self, jobs: Collection[str]) -> None:
        """Stops fetching for these jobs and returns the leases to the frontier."""
        tasks = [task for task, job in self.tasks.items() if job in jobs]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._host_feedback.send()
        ended = self._results.tokens
        if begun := [token for token, lease in self._held.items() if lease.job in jobs and token not in ended]:
            await self._release(begun, 0.0)

    def cancel(self) -> None:
        for task in self.tasks:
            task.cancel()

    async def _begin(self, leases: Sequence[Lease], timing: LeaseTiming) -> None:
        known = await self._refresh.known(leases)
        for lease in leases:
            task = self._start(lease.job, self._run_pipeline(lease, timing, known.get(lease.token)))
            if self._active_jobs[lease.job].rendering_of(lease) is not None:
                self._rendering.add(task)

    async def _begin_when_current(self, leases: Sequence[Lease], timing: LeaseTiming) -> None:
        job = leases[0].job
        newest = max(leases, key=lambda lease: lease.edition)
        try:
            await self._outages.keep_trying(self._active_jobs.make_current, newest)
        except self._outages.retried_errors:
            raise
        except ShoalError as error:
            self._note_unloadable(job, str(error))
            await self._release([lease.token for lease in leases], UNLOADABLE_WAIT_S)
        else:
            self.unloadable.pop(job, None)
            await self._begin_on_schedule(leases, timing)

    async def _begin_on_schedule(self, leases: Sequence[Lease], timing: LeaseTiming) -> None:
        """Loading a job takes a while. Leases that should have started meanwhile are returned, to be planned again: if
        they started now, other processes might start requests at the same moment by the plan.

        A start that is late by one gap makes one request too many in a second. Half of that is left to the way to the
        host, which is slow when the machine is busy.
        """
        late = [lease.token for lease in leases if lease.gap_s and timing.late_s(lease) > lease.gap_s / 2]
        if late:
            await self._release(late, 0.0)
        await self._begin([lease for lease in leases if lease.token not in late], timing)

    def _note_unloadable(self, job: str, why: str) -> None:
        self.unloadable.pop(job, None)
        self.unloadable[job] = why
        if len(self.unloadable) > MOST_UNLOADABLE:
            del self.unloadable[next(iter(self.unloadable))]

    async def _run_pipeline(self, lease: Lease, timing: LeaseTiming, known: KnownPage | None) -> None:
        active_job = self._active_jobs[lease.job]
        is_last = active_job.shapes is not None and lease.trail.priority <= LAST_OF_ALL
        if is_last and await self._others_ended(lease):
            # They may have led to requests that come before it.
            self._results.put(put_off(lease, LAST_OF_ALL))
            return
        if is_last:
            await self._outages.keep_trying(self._active_jobs.renew_learnt, active_job)
        end = await self._pipeline.run(lease, timing, active_job, known)
        if isinstance(end, ReturnLease):
            await self._release([lease.token], end.wait_s, end.needs_browser)
        else:
            self._results.put(end)

    async def _others_ended(self, lease: Lease) -> bool:
        """Waits for the requests of the host that come before this one. Returns whether there were any: a page that is
        being fetched may be the one that shows the use of a shape."""
        waited = False
        while any(_comes_before(other, lease) for other in self._held.values()):
            waited = True
            await self._one_ended.wait()
        return waited

    async def _release(self, tokens: Sequence[int], wait_s: float, needs_browser: bool = False) -> None:
        await self._frontier_client.release(tokens, wait_s, needs_browser)
        self.remove(tokens)

    def _start(self, job: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self.tasks[task] = job
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        del self.tasks[task]
        # Otherwise there is nothing new to lease until its result is saved.
        if task in self._rendering or not self._wake.has_room:
            self._wake.now()
        self._rendering.discard(task)
        if not task.cancelled() and task.exception() is not None:
            # Pages and hosts cannot cause this: it is a bug of ours, and the crawl must not go on without the task.
            self._results.fail(task.exception())


def _comes_before(other: Lease, last: Lease) -> bool:
    return other.trail.priority > LAST_OF_ALL and other.target.host == last.target.host and other.job == last.job
