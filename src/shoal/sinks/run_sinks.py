"""Delivers to the sinks of one job beside its crawl, each in a thread, until the crawl is over and all is delivered.

A sink that is away or refuses everything never holds the crawl up. It is tried again and again, and its state in the
store says what it waits for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

from shoal.errors import ShoalError, Unavailable
from shoal.sinks import THREADS
from shoal.sinks.open_sink import open_sink
from shoal.sinks.sink_delivery import SinkDelivery, Step
from shoal.store.crawl.sink_state import SinkKey, note_fault, sink_statuses
from shoal.store.jobs import Job, earlier_jobs
from shoal.store.store import Store
from shoal.telemetry import EventLogger
from shoal.telemetry.mask_secrets import masked

P = ParamSpec("P")
T = TypeVar("T")

IDLE_S = 1.0
"""How often a sink that has nothing to do looks into the log."""
RETRY_S = (1.0, 30.0)
"""The first delay after a failure, which doubles up to the second."""
STOP_S = 10.0
_MOST_EARLIER = 10

log = EventLogger(__name__)


def make_delivery(
    store: Store,
    job: Job,
    place: int,
    secrets: Mapping[str, str],
    alone: bool,
    fleet_modules: Sequence[str] | None = None,
) -> SinkDelivery:
    """`alone` as in SinkDelivery, `fleet_modules` as in `open_sink`. Raises UsageError."""
    key = SinkKey(job.id, place)
    earlier = [one.id for one in earlier_jobs(store, job.id, _MOST_EARLIER)] if job.spec.refresh else []
    destination = open_sink(key, job.spec.sinks[place], secrets, fleet_modules)
    return SinkDelivery(store, key, destination, earlier, alone, provenance=job.spec.provenance)


class JobSinks:
    """Make one, `start` it, and at the end `drain` or `stop` it."""

    def __init__(self, store: Store, job: Job, secrets: Mapping[str, str]) -> None:
        """No other process may work on the job."""
        self._store = store
        self._job = job
        self._secrets = secrets
        self._over = asyncio.Event()
        self._stopping = asyncio.Event()
        self._threads = ThreadPoolExecutor(len(job.spec.sinks), thread_name_prefix=THREADS)
        self._tasks: list[asyncio.Task[None]] = []
        self.left: str | None = None
        """What is left to deliver after the crawl, as text for a person."""

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._deliver(place)) for place in range(len(self._job.spec.sinks))]

    def end(self) -> None:
        """Nothing more is coming: each sink ends when it has delivered everything."""
        self._over.set()

    async def ended(self, within_s: float) -> bool:
        """Waits so long at most; whether all have ended."""
        _, left = await asyncio.wait(self._tasks, timeout=within_s)
        return not left

    def note_left(self) -> None:
        """Looks into the store."""
        found = [one for one in sink_statuses(self._store, self._job.id, time.time()) if one.behind]
        faults = [one.fault for one in found if one.fault]
        words = f"sink behind by {sum(one.behind for one in found):,}"
        self.left = None if not found else f"{words}, waiting: {faults[0]}" if faults else words

    async def stop(self) -> None:
        """Each sink ends after the batch that it delivers now."""
        self._stopping.set()
        self._over.set()
        done, left = await asyncio.wait(self._tasks, timeout=STOP_S)
        for task in left:
            # Its destination does not answer. What it was given is delivered again by the next process.
            task.cancel()
        # An idle thread ends at once, but not before this returns unless it is waited for.
        self._threads.shutdown(wait=not left, cancel_futures=True)
        for task in done:
            task.result()

    async def _deliver(self, place: int) -> None:
        delivery = None
        delay = RETRY_S[0]
        while not self._stopping.is_set():
            ends = self._over.is_set()
            try:
                if delivery is None:
                    # It may import a user's module and run its code.
                    delivery = await self._in_thread(
                        make_delivery, self._store, self._job, place, self._secrets, alone=True
                    )
                step = await self._in_thread(delivery.step, ends)
            except Exception as error:
                # Also what nobody foresaw, in a destination or its library: the crawl and the other sinks go on.
                stuck = not isinstance(error, Unavailable)
                await self._in_thread(self._note, place, error, stuck)
                # Waiting does not mend it. A crawl that goes on tries again until its end.
                if stuck and ends:
                    break
                await self._pause(delay)
                delay = min(2 * delay, RETRY_S[1])
                continue
            delay = RETRY_S[0]
            if step is not Step.DELIVERED and ends:
                break
            if step is not Step.DELIVERED:
                await self._pause(IDLE_S)
        if delivery is not None:
            await self._in_thread(self._close, delivery)

    async def _in_thread(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *args, **named))

    def _close(self, delivery: SinkDelivery) -> None:
        # A hold that cannot be given back ends by itself, and everything that could be delivered is.
        with suppress(Exception):
            delivery.close()

    def _note(self, place: int, error: Exception, stuck: bool) -> None:
        note_sink_fault(self._store, self._job, place, error, stuck)

    async def _pause(self, seconds: float) -> None:
        """Ends early if the crawl ends or the sinks are stopped, but not again for the same reason."""
        event = self._stopping if self._over.is_set() else self._over
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass


def note_sink_fault(store: Store, job: Job, place: int, error: Exception, stuck: bool) -> None:
    text = masked(str(error) if isinstance(error, ShoalError) else f"{type(error).__name__}: {error}")
    [known] = [one.fault for one in sink_statuses(store, job.id, time.time()) if one.place == place] or [None]
    if known != text:
        log.warning("sink_waits", f"job {job.id}: its sink waits: {text}", job=job.id, sink=place)
    note_fault(store, SinkKey(job.id, place), text, stuck)
