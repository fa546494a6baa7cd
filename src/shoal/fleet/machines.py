"""Machines that never came back: the pages whose raw answers went with them are asked for again.

Their rows are removed, and the frontier gives up the job, so that it is restored from the store and finds them missing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection

from shoal.frontier.contract import Frontier
from shoal.store.archive.archive import Archive
from shoal.store.archive.lost import LOST_AFTER_S, forget_pages, give_up, lost_segments
from shoal.store.writer import Writer

log = logging.getLogger(__name__)


async def mourn_machines(
    writer: Writer, frontier: Frontier, archive: Archive, living: Collection[str], jobs: Collection[str]
) -> None:
    """`living` are machines heard of lately, `jobs` those that go on; of others the rows stay, without their bodies."""
    for segment in await writer.run(lost_segments, archive, living, time.time() - LOST_AFTER_S):
        if segment.job in jobs:
            pages = await writer.run(forget_pages, segment)
            await frontier.erase(segment.job)
            log.warning("job %s: %d pages of lost machine %s are fetched again", segment.job, pages, segment.machine)
        await writer.run(give_up, segment)
