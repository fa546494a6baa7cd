"""Delivers the items of a fleet's jobs to their sinks, from tend: each sink in a thread, a limited number at a time.

Only the tend that has the fleet's lock gives turns. So it takes a sink over at once from one that is gone. If that one
lives after all, both deliver for some seconds, which has no further effect at the destination.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from shoal.errors import Unavailable, UnknownJob, UsageError
from shoal.model import ENDED
from shoal.settings import Settings
from shoal.sinks import THREADS
from shoal.sinks.run_sinks import RETRY_S, make_delivery, note_sink_fault
from shoal.sinks.sink_delivery import SinkDelivery, Step
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.sink_state import SinkKey, sinks_behind
from shoal.store.jobs import load_job
from shoal.telemetry import EventLogger

AT_ONCE = 4
"""Each holds a connection to the store while it delivers, and the store has eight for all of tend."""
TURN_S = 10.0
"""After so long another sink gets the thread."""
END_S = 10.0

log = EventLogger(__name__)


class _NotedFault(Exception):
    """Of a delivery. The database being away is no fault of one."""


@dataclass
class _OpenSink:
    delivery: SinkDelivery | None = None
    turn: asyncio.Task[None] | None = None
    due_at: float = 0.0
    delay_s: float = RETRY_S[0]

    @property
    def is_busy(self) -> bool:
        return self.turn is not None and not self.turn.done()


class FleetSinks:
    def __init__(self, settings: Settings, async_store: AsyncStore) -> None:
        self._settings = settings
        self._async_store = async_store
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix=THREADS)
        # Apart from the deliveries, all of which may hang.
        self._closer = ThreadPoolExecutor(1, thread_name_prefix=THREADS)
        self._closing: set[asyncio.Future[None]] = set()
        self._open: dict[SinkKey, _OpenSink] = {}

    async def deliver(self) -> None:
        """Gives sinks that are behind a turn and does not wait for them. Raises Unavailable."""
        behind = await self._async_store.read(sinks_behind, None, True)
        for key in behind:
            self._open.setdefault(key, _OpenSink())
        for key in [key for key, sink in self._open.items() if key not in behind and not sink.is_busy]:
            self._begin_close(self._open.pop(key))
        free = AT_ONCE - sum(sink.is_busy for sink in self._open.values())
        now = time.monotonic()
        due = [(sink.due_at, key) for key, sink in self._open.items() if not sink.is_busy and sink.due_at <= now]
        # Those that have waited longest first.
        for _, key in sorted(due)[:free]:
            self._open[key].turn = asyncio.create_task(self._take_turn(key, self._open[key]))

    async def close(self) -> None:
        """Waits a while for running deliveries; the next tend repeats what was interrupted."""
        running = [sink.turn for sink in self._open.values() if sink.turn is not None and sink.is_busy]
        left = (await asyncio.wait(running, timeout=END_S))[1] if running else set()
        for sink in self._open.values():
            if not sink.is_busy:
                self._begin_close(sink)
        unclosed = (await asyncio.wait(self._closing, timeout=END_S))[1] if self._closing else set()
        self._threads.shutdown(wait=not left, cancel_futures=True)
        self._closer.shutdown(wait=not unclosed, cancel_futures=True)

    async def _take_turn(self, key: SinkKey, sink: _OpenSink) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._deliver, key, sink)
            sink.due_at, sink.delay_s = time.monotonic(), RETRY_S[0]
        except Exception as error:
            # Whatever fails in a destination or its library, the other sinks go on, and this one is tried again.
            if not isinstance(error, _NotedFault | Unavailable):
                log.exception("sink_failed", "a turn of a sink failed, and is repeated", job=key.job, sink=key.place)
            sink.due_at = time.monotonic() + sink.delay_s
            sink.delay_s = min(2 * sink.delay_s, RETRY_S[1])

    def _deliver(self, key: SinkKey, sink: _OpenSink) -> None:
        with suppress(UnknownJob):
            job = load_job(self._async_store.store, key.job)
            try:
                if sink.delivery is None:
                    secrets, modules = self._settings.secrets, self._settings.spiders
                    sink.delivery = make_delivery(
                        self._async_store.store, job, key.place, secrets, alone=True, fleet_modules=modules
                    )
                self._deliver_batches(sink.delivery, ends=job.state in ENDED)
            except Exception as error:
                # Logged, and shown with the job.
                note_sink_fault(self._async_store.store, job, key.place, error, isinstance(error, UsageError))
                raise _NotedFault from error

    def _deliver_batches(self, delivery: SinkDelivery, ends: bool) -> None:
        until = time.monotonic() + TURN_S
        while delivery.step(ends) is Step.DELIVERED and time.monotonic() < until:
            pass

    def _begin_close(self, sink: _OpenSink) -> None:
        """Nobody waits for it: a destination may hang."""
        if sink.delivery is not None:
            closing = asyncio.get_running_loop().run_in_executor(self._closer, self._close, sink.delivery)
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _close(self, delivery: SinkDelivery) -> None:
        # Everything is delivered, and a hold that cannot be given back ends by itself. So whatever fails here, in a
        # user's class too, must not end tend.
        with suppress(Exception):
            delivery.close()
