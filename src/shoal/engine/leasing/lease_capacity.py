"""How many more requests this process may lease: what is in flight, is unsaved or waits to be read takes room."""

from __future__ import annotations

from collections.abc import Callable

from shoal.engine.active_jobs import ActiveJobs
from shoal.engine.leasing.held_leases import HeldLeases
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.readers.pool import ReaderPool
from shoal.engine.saving.result_queue import ResultQueue

BACKLOG_PER_FETCH = 4
BACKLOG_BYTES = 32_000_000
"""Limit for pages that are read but not stored. A page with tens of thousands of links takes many times its size."""
READER_BACKLOG_BYTES = 64_000_000
"""Limit for big pages that wait for a reader, over all hosts."""
SLOW_AFTER_S = 5.0
SLOW_BYTES_PER_S = 10_000
MOST_SLOW = 3
"""A request that takes longer than SLOW_AFTER_S and has brought less than SLOW_BYTES_PER_S no longer counts as in
flight, up to this many times `concurrency`. Otherwise hosts that never answer, or send very slowly, would take every
slot for as long as a fetch may last."""


class LeaseCapacity:
    def __init__(
        self,
        concurrency: int,
        browser_pages: Callable[[], int],
        active_jobs: ActiveJobs,
        held_leases: HeldLeases,
        results: ResultQueue,
        readers: ReaderPool,
        outages: OutageRetry,
    ) -> None:
        """`browser_pages` returns how many pages the browser of this process opens at a time; 0: it has none."""
        self._concurrency = concurrency
        self._browser_pages = browser_pages
        self._active_jobs = active_jobs
        self._held_leases = held_leases
        self._results = results
        self._readers = readers
        self._outages = outages

    @property
    def requests(self) -> int:
        if self._results.bytes > BACKLOG_BYTES or self._readers.held_bytes > READER_BACKLOG_BYTES:
            return 0
        fetchers = {active_job.fetcher for active_job in self._active_jobs}
        if self._outages.waiting_for or any(fetcher.is_full for fetcher in fetchers):
            return 0
        unsaved = BACKLOG_PER_FETCH * self._concurrency - len(self._results)
        in_flight = self._held_leases.in_flight
        if self._held_leases.is_busy:
            slow = sum(fetcher.slow(SLOW_AFTER_S, SLOW_BYTES_PER_S) for fetcher in fetchers)
            # Pages that a reader process reads, or that wait for one, need no connection either.
            in_flight -= min(slow + len(self._readers), MOST_SLOW * self._concurrency)
        # Otherwise there is enough room, however many of them are slow.
        return max(0, min(self._concurrency - in_flight, unsaved))

    @property
    def rendered(self) -> int:
        """Of those that need a browser: a page more waits for each open one."""
        return max(0, 2 * self._browser_pages() - self._held_leases.rendered)
