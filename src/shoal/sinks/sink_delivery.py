"""Delivers to one sink from the store, batch by batch. One process at a time delivers to a sink."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple
from uuid import uuid4

from shoal.errors import Unavailable
from shoal.model import ItemType
from shoal.sinks.destination import Destination, SinkBatch, SinkItem, SinkLost
from shoal.sinks.provenance import items_with_provenance, types_with_provenance
from shoal.sinks.read_batch import BatchPlan, plan, read_chunks, read_outdated, read_removed
from shoal.store.crawl.change_log import ItemName
from shoal.store.crawl.sink_state import (
    Progress,
    Refusal,
    SinkKey,
    SinkState,
    advance,
    hold_sink,
    plan_batch,
    release_sink,
    start_over,
)
from shoal.store.jobs import load_job
from shoal.store.results.items import declared_types
from shoal.store.store import Store

HOLD_S = 60.0
"""How long a silent process keeps a sink; a batch that takes longer is delivered, and perhaps by two processes."""


class Step(Enum):
    DELIVERED = "delivered"
    IDLE = "idle"
    """Nothing is waiting in the log."""
    ELSEWHERE = "elsewhere"
    """Another process delivers to the sink."""


class _Collected(NamedTuple):
    """What a destination has collected and not made durable yet."""

    end: Mapping[int, int]
    n: int
    refusals: Sequence[Refusal]
    tried: Sequence[ItemName]


class SinkDelivery:
    """Not for several threads at once."""

    def __init__(
        self,
        store: Store,
        key: SinkKey,
        destination: Destination,
        earlier: Sequence[str] = (),
        alone: bool = False,
        clock: Callable[[], float] = time.time,
        provenance: bool = False,
    ) -> None:
        """`earlier`: jobs whose items a job that refreshes replaces. `alone`: no other process can deliver to the sink
        now, so that the hold of one that was killed does not count. `provenance`: as in `provenance.py`."""
        self._store = store
        self._key = key
        self._destination = destination
        self._earlier = earlier
        self._clock = clock
        self._provenance = provenance
        self._alone = alone
        self._holder = uuid4().hex
        self._held_until = 0.0
        self._state: SinkState | None = None
        self._collected: _Collected | None = None
        self._flushing = False

    def step(self, ends: bool = False) -> Step:
        """Delivers the next batch, if there is one.

        `ends`: nothing more is coming, so that nothing should be collected any longer.
        """
        if self._state is None:
            self._hold()
        if self._state is None:
            return Step.ELSEWHERE
        try:
            return Step.DELIVERED if self._deliver(self._state, ends) else Step.IDLE
        except SinkLost:
            self._drop_collected()
            start_over(self._store, self._key, self._holder)
            self._state = None
            return Step.DELIVERED
        except BaseException as error:
            # What is collected stays for the next try, if only its destination is away.
            if not (self._flushing and isinstance(error, Unavailable)):
                self._drop_collected()
                self._state = None
            raise

    def close(self) -> None:
        """Other processes may deliver to the sink at once."""
        self._drop_collected()
        try:
            release_sink(self._store, self._key, self._holder)
        finally:
            self._destination.close()

    def _deliver(self, state: SinkState, ends: bool) -> bool:
        planned = self._planned(state)
        if planned.is_empty and state.planned is not None and self._collected is None:
            # Nothing of that batch is left: it only tried refused items again, and they are gone.
            plan_batch(self._store, self._key, self._holder, None)
            state = self._state = SinkState(state.key, state.cursor, None, state.batch)
            planned = self._planned(state)
        if planned.is_empty:
            # A batch that was planned has the end that it had before.
            ends = ends or state.planned is not None
            flushes = self._collected is not None and (ends or self._destination.is_full(idle=True))
            self._extend_hold()
            if flushes:
                self._flush()
            return flushes
        with self._destination.exclusive():
            self._send(state)
        if not self._destination.buffers or (state.planned is None and self._destination.is_full(idle=False)):
            self._flush()
        return True

    def _planned(self, state: SinkState) -> BatchPlan:
        position = state.cursor if self._collected is None else self._collected.end
        with self._store.read() as db:
            return plan(self._store, db, state, position, retries=self._collected is None)

    def _send(self, state: SinkState) -> None:
        store, key = self._store, self._key
        # Once more: all that is delivered must be read while nobody else can write there.
        planned = self._planned(state)
        if self._destination.fixed_batches and not self._fix_end(state, planned.end):
            return
        with store.read() as db:
            removed = read_removed(db, key.job, planned.changes)
            if self._earlier:
                removed += read_outdated(db, key.job, self._earlier, planned.pages)
            types: Sequence[ItemType] = declared_types(db, key.job)
            chunks: Iterator[Sequence[SinkItem]] = read_chunks(
                db, key.job, planned.pages, self._destination.items_at_once
            )
            if self._provenance:
                types = types_with_provenance(types)
                chunks = items_with_provenance(chunks, load_job(store, key.job).spider_version)
            refusals = self._destination.deliver(SinkBatch(key.job, state.batch, types, chunks, removed))
        self._collect(planned, refusals)

    def _collect(self, planned: BatchPlan, refusals: Sequence[Refusal]) -> None:
        known = self._collected or _Collected({}, 0, (), ())
        self._collected = _Collected(
            planned.end, known.n + planned.n, [*known.refusals, *refusals], [*known.tried, *planned.tried]
        )

    def _flush(self) -> None:
        state, collected = self._state, self._collected
        if state is None or collected is None or not self._fix_end(state, collected.end):
            return self._lose_hold()
        self._flushing = True
        refusals = self._destination.flush(state.batch)
        self._flushing, self._collected = False, None
        done = Progress(collected.end, collected.n, [*collected.refusals, *refusals], collected.tried)
        now = self._clock()
        if advance(self._store, self._key, self._holder, done, now, self._until()):
            self._state = SinkState(self._key, done.cursor, None, state.batch + 1)
        else:
            # Another process has taken over. What was delivered twice has no further effect.
            self._state = None

    def _fix_end(self, state: SinkState, end: Mapping[int, int]) -> bool:
        """Stores the end, so that another process would repeat the batch with it. False: this one lost its hold."""
        if state.planned is not None or not (self._destination.buffers or self._destination.fixed_batches):
            return True
        if not plan_batch(self._store, self._key, self._holder, end):
            return False
        self._state = SinkState(state.key, state.cursor, end, state.batch)
        return True

    def _lose_hold(self) -> None:
        self._drop_collected()
        self._state = None

    def _extend_hold(self) -> None:
        if self._clock() <= self._held_until - HOLD_S / 2:
            return
        before = self._state
        if not self._hold() or self._state != before:
            # Another process has held it in between, and perhaps delivered what is collected here.
            self._drop_collected()

    def _hold(self) -> bool:
        until = self._until()
        self._state = hold_sink(self._store, self._key, self._holder, self._clock(), until, self._alone)
        return self._state is not None

    def _drop_collected(self) -> None:
        self._flushing, self._collected = False, None
        # Also if nothing is noted as collected: a delivery may have failed half-way.
        self._destination.discard()

    def _until(self) -> float:
        self._held_until = self._clock() + HOLD_S
        return self._held_until
