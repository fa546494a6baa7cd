"""Machines that never came back: the pages whose raw answers went with them are asked for again.

Their rows are removed, and the frontier gives up the job, so that it is restored from the store and finds them missing.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from shoal.frontier.contract import Frontier
from shoal.store.archive.archive import Archive
from shoal.store.archive.lost import LOST_AFTER_S, forget_pages, give_up, lost_segments
from shoal.store.jobs import Job
from shoal.store.writer import Writer
from shoal.telemetry import Events

log = Events(__name__)


async def mourn_machines(
    writer: Writer, frontier: Frontier, archive: Archive, living: Collection[str], jobs: Mapping[str, Job]
) -> None:
    """`living` are machines heard of lately, `jobs`, by id, those that go on; of others the rows stay, bodiless."""
    for segment in await writer.run(lost_segments, archive, living, time.time() - LOST_AFTER_S):
        if segment.job in jobs:
            pages = await writer.run(forget_pages, segment)
            await frontier.erase(segment.job)
            words = f"job {segment.job}: {pages} pages of lost machine {segment.machine} are fetched again"
            log.warning("machine_lost", words, machine=segment.machine, pages=pages, **jobs[segment.job].about)
        await writer.run(give_up, segment)
