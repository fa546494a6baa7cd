"""Changes a job while it runs: stores the change in its spec and sends it to the frontier; workers apply it at their
next lease.

The store is the authority: it applies changes under a lock, so that two concurrent changes are both kept. The frontier
gets them afterwards. If the process dies before it sends a change, tend sends it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from shoal.engine.job_start import check_patterns, terms_of_job
from shoal.errors import FrontierLost
from shoal.frontier.contract import Frontier
from shoal.model import JobSpec
from shoal.store.job_changes import change_spec, note_frontier_version
from shoal.store.jobs import Job, load_job
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.fleet.fleet import Fleet


async def change_job(fleet: Fleet, job: str, change: Callable[[JobSpec], JobSpec], version: int | None) -> Job | None:
    """Returns None if the job's version is not the expected one. Raises UsageError for a bad change or an ended job.

    A job that reached a limit continues if the change raises the limit.
    """
    # Before it is stored: a change is refused if Redis is away.
    await fleet.frontier.connection.check()
    changed = change_spec(fleet.store, job, lambda spec: check_patterns(change(spec)), version, time.time())
    if changed is not None:
        with suppress(FrontierLost):
            # If the job has not started, or is being restored, it will get the stored terms.
            await send_terms(fleet.frontier, fleet.store, job)
        # A limited job may be open again, so tend must look at it.
        await fleet.ring()
    return changed


async def send_terms(frontier: Frontier, store: Store, id: str) -> None:
    """Sends the stored terms to the frontier. Raises FrontierLost."""
    job = await asyncio.to_thread(load_job, store, id)
    while True:
        await frontier.change(id, await asyncio.to_thread(terms_of_job, store, job))
        await asyncio.to_thread(note_frontier_version, store, id, job.version)
        now = await asyncio.to_thread(load_job, store, id)
        # A newer change may have been sent before this one: then send the newer one again.
        if now.version == job.version:
            return
        job = now
