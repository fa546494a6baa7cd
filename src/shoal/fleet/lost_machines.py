"""Handles machines that never came back: pages whose archived responses were lost with them are fetched again.

It removes the rows of these pages and erases the job in the frontier, so that tend restores the job without them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from shoal.frontier.contract import Frontier
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.lost_segments import LOST_AFTER_S, forget_pages, give_up, lost_segments
from shoal.store.async_store import AsyncStore
from shoal.store.jobs import Job
from shoal.telemetry import EventLogger
from shoal.wording import plural

log = EventLogger(__name__)


async def expire_lost_machines(
    async_store: AsyncStore, frontier: Frontier, archive: Archive, living: Collection[str], jobs: Mapping[str, Job]
) -> None:
    """`living` are machines seen recently; `jobs` are the unfinished jobs by id. Ended jobs keep the rows, without
    bodies."""
    for segment in await async_store.run(lost_segments, archive, living, time.time() - LOST_AFTER_S):
        if segment.job in jobs:
            pages = await async_store.run(forget_pages, segment)
            await frontier.erase(segment.job)
            text = f"job {segment.job}: {plural(pages, 'page')} of lost machine {segment.machine} to be fetched again"
            log.warning("machine_lost", text, machine=segment.machine, pages=pages, **jobs[segment.job].about)
        await async_store.run(give_up, segment)
