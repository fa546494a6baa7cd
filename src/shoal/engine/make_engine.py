"""Makes an engine of its parts: every part gets here what it works with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shoal.engine.active_jobs import ActiveJobs, JobLoader
from shoal.engine.engine import Engine
from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.held_leases import HeldLeases
from shoal.engine.leasing.host_feedback import HostFeedback
from shoal.engine.leasing.lease_capacity import LeaseCapacity
from shoal.engine.leasing.lease_loop import LeaseLoop
from shoal.engine.leasing.leasing_wake import LeasingWake
from shoal.engine.leasing.log_offers import OfferLog
from shoal.engine.leasing.overflow import Overflow
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.periodic_tasks import PeriodicTasks
from shoal.engine.readers.pool import ReaderPool
from shoal.engine.readers.reader_client import SECONDS
from shoal.engine.reading.conditional_recrawl import Refresh
from shoal.engine.reading.crash_marker import CrashMarker
from shoal.engine.reading.sitemap_offers import SitemapOffers
from shoal.engine.request_pipeline import RequestPipeline
from shoal.engine.robots.check import RobotsCheck
from shoal.engine.saving.result_queue import ResultQueue
from shoal.engine.saving.result_saver import ResultSaver
from shoal.engine.timed_event import TimedEvent
from shoal.errors import Busy, DiskFull, ObjectStoreAway, Unavailable
from shoal.frontier.contract import ALL_LANES, Frontier
from shoal.store.async_store import AsyncStore

if TYPE_CHECKING:
    from shoal.engine.proxies.save_health import HealthChannel


def make_engine(
    frontier: Frontier,
    async_store: AsyncStore,
    crash_marker: CrashMarker,
    concurrency: int,
    caller: str,
    loader: JobLoader | None = None,
    *,
    reading_s: float = SECONDS,
    browser_pages: Callable[[], int] = lambda: 0,
    channel: HealthChannel | None = None,
) -> Engine:
    """With a loader it works for a fleet: it loads jobs when it leases their requests, and waits for servers that are
    away. `reading_s` is the CPU time that a reader process may spend on a page. `browser_pages` returns how many pages
    the browser of this process opens at a time; 0: it has none. `channel` passes on to other processes how proxies
    work."""
    stopping, wake, results = TimedEvent(), LeasingWake(), ResultQueue()
    outages = OutageRetry(stopping, (Unavailable,) if loader else (DiskFull, Busy, ObjectStoreAway))
    client = FrontierClient(frontier, caller, outages)
    feedback = HostFeedback(client, wake)
    overflow = Overflow(client, async_store, outages)
    offer_log = OfferLog(async_store, outages)
    active_jobs = ActiveJobs(loader)
    readers = ReaderPool(reading_s, shared=loader is not None)
    robots = RobotsCheck(frontier, async_store, outages)
    refresh = Refresh(async_store, active_jobs, outages)
    sitemaps = SitemapOffers(frontier, overflow, offer_log, readers, outages)
    pipeline = RequestPipeline(sitemaps, robots, crash_marker, readers, feedback, outages)
    held = HeldLeases(client, active_jobs, pipeline, refresh, results, feedback, outages, wake, concurrency)
    capacity = LeaseCapacity(concurrency, browser_pages, active_jobs, held, results, readers, outages)
    leasing = LeaseLoop(frontier, client, active_jobs, held, feedback, capacity, outages, wake)
    if loader is None:
        leasing.permit(ALL_LANES)
    return Engine(
        frontier=frontier,
        async_store=async_store,
        stop_event=stopping,
        wake=wake,
        outages=outages,
        active_jobs=active_jobs,
        crash_marker=crash_marker,
        readers=readers,
        results=results,
        host_feedback=feedback,
        overflow=overflow,
        held_leases=held,
        leasing=leasing,
        saver=ResultSaver(results, held, client, overflow, offer_log, async_store, active_jobs, outages),
        periodic_tasks=PeriodicTasks(frontier, active_jobs, held, overflow, readers, outages),
        channel=channel,
    )
