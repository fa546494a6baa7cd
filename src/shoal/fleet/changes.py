"""Changes to a job while it runs: kept in its spec, told to the frontier, and met by workers with their next lease.

The store decides: a change is made to what it has, under a lock, so that of two at once none is lost. The frontier is
told afterwards; what was not told because its teller died is told by tend.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.engine.beginning import scope_of, terms_of
from shoal.engine.refusal import unwanted
from shoal.errors import FrontierLost
from shoal.frontier.contract import Frontier
from shoal.model import JobSpec
from shoal.store.jobs import Job, change_spec, load_job, note_told
from shoal.store.store import Store
from shoal.urls import Scope

if TYPE_CHECKING:
    from shoal.fleet.place import Fleet

MOST_LOOKED_AT = 50_000


@dataclass(frozen=True, slots=True)
class Preview:
    queued: int
    looked_at: int
    dropped: int
    """Of those that were looked at."""

    @property
    def estimate(self) -> int:
        return round(self.dropped * self.queued / self.looked_at) if self.looked_at else 0


async def change_job(fleet: Fleet, job: str, change: Callable[[JobSpec], JobSpec], version: int | None) -> Job | None:
    """None: it is of another version than was expected. Raises UsageError for what cannot work or has ended.

    One that a limit ended goes on if it is given a higher one.
    """
    # Before it is stored: what the frontier cannot be told of now is not taken.
    await fleet.frontier.connection.check()
    changed = change_spec(fleet.store, job, lambda spec: _checked(change(spec)), version, time.time())
    if changed is not None:
        with suppress(FrontierLost):
            # It has not begun, or is being restored: it will be with what is stored.
            await tell_terms(fleet.frontier, fleet.store, job)
        # It may have been one that had ended, and is tended again.
        await fleet.ring()
    return changed


async def tell_terms(frontier: Frontier, store: Store, id: str) -> None:
    """Gives the frontier the terms that the store has. Raises FrontierLost."""
    job = await asyncio.to_thread(load_job, store, id)
    while True:
        await frontier.change(id, terms_of(job.spec, job.seconds, job.owner))
        await asyncio.to_thread(note_told, store, id, job.version)
        now = await asyncio.to_thread(load_job, store, id)
        # Another change may have been told before this one, which is older.
        if now.version == job.version:
            return
        job = now


async def preview(fleet: Fleet, job: Job, spec: JobSpec) -> Preview:
    """How much of what is queued would no longer belong to the job; of more than MOST_LOOKED_AT only a part is
    looked at. Raises UsageError for a pattern that cannot work."""
    scope = await asyncio.to_thread(scope_of, fleet.store, job, spec)
    looked_at = dropped = 0
    try:
        queued = (await fleet.frontier.figures(job.id)).queued
        async for target, trail in fleet.frontier.queued(job.id, MOST_LOOKED_AT):
            looked_at += 1
            dropped += unwanted(scope, target, trail) is not None
    except FrontierLost:
        return Preview(0, 0, 0)
    # Both are of moments of their own while the job runs.
    return Preview(max(queued, looked_at), looked_at, dropped)


def _checked(spec: JobSpec) -> JobSpec:
    """Raises UsageError for a pattern that cannot work."""
    Scope(spec.scope, (), spec.include, spec.exclude)
    return spec
