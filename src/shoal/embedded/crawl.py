"""One run of a job in this process: locks the job, crawls, and reports."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shoal.embedded.home import Home, caller_of
from shoal.embedded.report import Report
from shoal.engine.active_job import JobResources
from shoal.engine.engine import ignore
from shoal.engine.job_finish import finish
from shoal.engine.job_start import callbacks_of, make_active_job, seed_offers, seeds_of, terms_of_job
from shoal.engine.make_engine import make_engine
from shoal.engine.saving.result_saver import OnResult
from shoal.errors import Busy, DiskFull, ObjectStoreAway, UsageError
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.open_file_limit import raise_open_files
from shoal.fetch.tls_policy import TlsPolicy
from shoal.frontier.serialize import offer_of
from shoal.jobs.job_overview import overview
from shoal.model import ENDED, JobSpec, JobState, Render
from shoal.store.archive.spools import ALONE, Spools
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.robots_files import disclaim_all_robots
from shoal.store.job_changes import add_seconds, mark_seeded
from shoal.store.job_state import set_state
from shoal.store.jobs import Job, load_job
from shoal.urls import Exclusions

if TYPE_CHECKING:
    from shoal.browser.browser_fetcher import BrowserFetcher
    from shoal.engine.proxies.job_exits import JobExits
    from shoal.engine.reading.spider_callbacks import SpiderCallbacks
    from shoal.sinks.run_sinks import JobSinks
    from shoal.spiders.spider import Spider

SECONDS_COUNTED_EVERY_S = 5.0
WAITING_REPORTED_EVERY_S = 1.0
KILLED_EVERY_S = 2.0
SINKS_LOOKED_AT_EVERY_S = 0.5
SERIES_RECORDED_EVERY_S = 60.0


class Crawl:
    """Make one and `await run()`; watch or stop it through `engine` meanwhile."""

    def __init__(
        self,
        home: Home,
        job_id: str,
        concurrency: int,
        exclusions: Exclusions,
        spider: Spider | None = None,
        secrets: Mapping[str, str] | None = None,
        browser: str | None = None,
        pools: Mapping[str, str] | None = None,
    ) -> None:
        """If `spider` is given, it is used instead of the one that the job names. The sinks and proxies of the job name
        secrets, and the job may name one of the `pools` of proxies. `browser` is the program that renders pages; None:
        the first that is found."""
        self._home = home
        self._spider = spider
        self._exclusions = exclusions
        self._secrets = secrets or {}
        self._pools = pools or {}
        self._sinks: JobSinks | None = None
        self._browser = browser
        self._browser_fetcher: BrowserFetcher | None = None
        self.job_id = job_id
        self._frontier = home.frontier
        self._async_store = AsyncStore(home.store)
        self._spools = Spools(home.archive, socket.gethostname(), ALONE)
        self._lock = home.lock_of(job_id)
        self._crash_marker = home.crash_marker_of(job_id)
        self.engine = make_engine(
            self._frontier,
            self._async_store,
            self._crash_marker,
            concurrency,
            caller_of(job_id),
            browser_pages=self._browser_pages,
        )

    async def run(self, on_result: OnResult = ignore) -> Report:
        """Calls `on_result` with every result once it is saved."""
        raise_open_files()
        with self._lock.held():
            try:
                job = load_job(self._home.store, self.job_id)
                if job.spec.scrapy is not None and job.state not in ENDED:
                    raise UsageError(f"job {job.id} is a Scrapy crawl: `scrapy crawl {job.spec.scrapy}` continues it")
                if not job.spec.sinks:
                    return await self._run(job, on_result)
                return await self._run_with_sinks(job, on_result)
            finally:
                if self._browser_fetcher is not None:
                    await self._browser_fetcher.aclose()
                    await self._browser_fetcher.pool.aclose()
                self._async_store.close()
                self._spools.close()
                self._crash_marker.close()

    @property
    def drains(self) -> str | None:
        """What is left to deliver to the job's sinks after the crawl itself has ended, as text for a person."""
        return None if self._sinks is None else self._sinks.left

    async def _run_with_sinks(self, job: Job, on_result: OnResult) -> Report:
        # Imported here only: few crawls have sinks.
        from shoal.sinks.run_sinks import JobSinks

        self._sinks = sinks = JobSinks(self._home.store, job, self._secrets)
        sinks.start()
        try:
            report = await self._run(job, on_result)
            sinks.end()
            while not self.engine.stopping and not await sinks.ended(SINKS_LOOKED_AT_EVERY_S):
                await asyncio.to_thread(sinks.note_left)
        finally:
            await sinks.stop()
        seen = await overview(self._home, job.id)
        return report._replace(overview=replace(report.overview, sinks=seen.sinks))

    async def _run(self, job: Job, on_result: OnResult) -> Report:
        # Before any change: if the spider cannot be loaded, the job stays as it is.
        callbacks = callbacks_of(job.spec, self._spider)
        exits = await self._load_exits(job) if job.spec.has_proxies else None
        if job.state not in ENDED:
            await self._prepare_browser(job.spec)
        if job.state in ENDED:
            # The process that ended it was killed before the spider's on_finish had ended.
            await self._finish_hooks(callbacks)
            self._lock.remove_when_released()
        else:
            await self._take_over(job)
            shared = await self._begin(job, callbacks)
            if shared is not None:
                return await self._crawl(job, exits, callbacks, shared, on_result)
        return Report(await overview(self._home, job.id), 0.0, self._home.database)

    async def _load_exits(self, job: Job) -> JobExits | None:
        # Imported here only: few crawls have proxies.
        from shoal.engine.proxies.load_pool import ProxySettings, load_exits
        from shoal.store.proxies.figures import prune_proxy_figures

        await self.engine.outages.keep_trying(self._async_store.run, prune_proxy_figures, time.time())
        return load_exits(job.spec, job.id, self._home.store, ProxySettings(self._pools, self._secrets))

    async def _crawl(
        self,
        job: Job,
        exits: JobExits | None,
        callbacks: SpiderCallbacks | None,
        shared: Mapping[str, Any],
        on_result: OnResult,
    ) -> Report:
        fetcher = Fetcher(job.spec.agent, AddressGuard(job.spec.allow_private), tls=TlsPolicy.of(job.spec))
        started = time.time()
        works = (
            *(self._count_seconds(job.id), self._record_series(job.id)),
            *(self._report_waiting(), self._look_for_killed()),
        )
        background = [asyncio.create_task(work) for work in works]
        reason: str | None = None
        try:
            open_browser = partial(self._open_browser, job.spec)
            resources = JobResources(
                fetcher, callbacks, shared, exclusions=self._exclusions, open_browser=open_browser, exits=exits
            )
            reason = await self._work_on(job, resources, on_result)
        except (DiskFull, ObjectStoreAway):
            # A user's stop counts even if it cannot be stored.
            if not self.engine.stopping:
                raise
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            # A full disk prevents both writes. But a running job in a home without a process counts as interrupted.
            with suppress(DiskFull, Busy):
                await self._frontier.pause(job.id)
                if reason is None:
                    set_state(self._home.store, job.id, JobState.INTERRUPTED, time.time())
            await fetcher.aclose()
            if callbacks is not None:
                await _end_callback_tasks()
        if reason is not None:
            await finish(self._frontier, self._home.store, job, reason)
            await self._finish_hooks(callbacks)
            # Nobody will repeat a call of this run.
            await self._frontier.reap(gone=[caller_of(job.id)])
            self._lock.remove_when_released()
        seen = await overview(self._home, job.id)
        if reason is None:
            seen = replace(seen, state=JobState.INTERRUPTED, limiting=None)
        return Report(seen, time.time() - started, self._home.database)

    async def _prepare_browser(self, spec: JobSpec) -> None:
        """Before any change: if there is no browser, the job stays as it is. Raises BrowserMissing."""
        if spec.render is Render.ALWAYS:
            await self._open_browser(spec).pool.start()
        elif spec.render is Render.AUTO:
            # Imported here only: few crawls need a browser. On many sites no page does, and its start takes a while.
            from shoal.browser.find_browser import find_browser

            find_browser(self._browser)

    def _browser_pages(self) -> int:
        # A browser that has not started yet starts for the first page that needs it. If it does not, pages of `auto`
        # that wait for one are fetched without.
        pool = None if self._browser_fetcher is None else self._browser_fetcher.pool
        return pool.pages if pool is not None and pool.started else 1

    def _open_browser(self, spec: JobSpec) -> BrowserFetcher:
        if self._browser_fetcher is None:
            # Imported here only: few crawls need a browser.
            from shoal.browser.browser_fetcher import BrowserFetcher
            from shoal.browser.browser_pool import BrowserPool

            guard = AddressGuard(spec.allow_private)
            self._browser_fetcher = BrowserFetcher(
                BrowserPool(spec.agent, self._browser), spec.user_agent, guard, insecure=spec.insecure
            )
        return self._browser_fetcher

    async def _begin(self, job: Job, callbacks: SpiderCallbacks | None) -> Mapping[str, Any] | None:
        """Runs the spider's `on_start`. None if it failed: then the job has failed."""
        if callbacks is None or not callbacks.spider.hooks:
            return {}
        # Imported here only: a crawl without hooks does not need it.
        from shoal.engine.job_hooks import begin_job
        from shoal.spiders.job_hooks import HookFailed

        try:
            return await begin_job(self._async_store, job, callbacks.spider, alone=True)
        except HookFailed as failed:
            await self._frontier.pause(job.id)
            set_state(self._home.store, job.id, JobState.FAILED, time.time(), str(failed))
            await self._finish_hooks(callbacks)
            self._lock.remove_when_released()
            return None

    async def _finish_hooks(self, callbacks: SpiderCallbacks | None) -> None:
        if callbacks is not None and callbacks.spider.hooks:
            from shoal.engine.job_hooks import finish_job

            await finish_job(self._async_store, load_job(self._home.store, self.job_id), callbacks.spider, alone=True)

    async def _work_on(self, job: Job, resources: JobResources, on_result: OnResult) -> str | None:
        if not await self._seed(job):
            return None
        # The job's time limit starts only now: offering a list of a million takes a while.
        await self._frontier.open_job(job.id, terms_of_job(self._home.store, job))
        home = self._home
        self.engine.add(await asyncio.to_thread(make_active_job, job, home.store, self._spools, resources))
        finished = await self.engine.run(on_result)
        # Not if the engine fails: then the next run adopts the segments in the spool.
        await self.engine.outages.keep_trying(asyncio.to_thread, self._spools.seal_all, home.store)
        return finished.get(job.id)

    async def _count_seconds(self, job_id: str) -> None:
        """Adds to the job's running time every few seconds, so that a kill loses little."""
        counted = time.monotonic()
        try:
            while True:
                await asyncio.sleep(SECONDS_COUNTED_EVERY_S)
                now = time.monotonic()
                await self.engine.outages.keep_trying(self._async_store.run, add_seconds, job_id, now - counted)
                counted = now
        finally:
            add_seconds(self._home.store, job_id, time.monotonic() - counted)

    async def _record_series(self, job_id: str) -> None:
        while True:
            await asyncio.sleep(SERIES_RECORDED_EVERY_S)
            # Imported here only: many crawls end within a minute.
            from shoal.store.results.time_series import record_series

            figures = await self.engine.outages.keep_trying(self._frontier.figures, job_id)
            queue = figures.queued + figures.leased
            await self.engine.outages.keep_trying(self._async_store.run, record_series, job_id, time.time(), queue)

    async def _report_waiting(self) -> None:
        """Shows other terminals, in the lock file, what the crawl waits for: a full disk refuses database writes."""
        try:
            while True:
                await asyncio.sleep(WAITING_REPORTED_EVERY_S)
                self._lock.report(self.engine.waiting_for, self.note)
        finally:
            self._lock.report(None)

    @property
    def note(self) -> str | None:
        """What delays the crawl, or will, as text for a person; it still works."""
        browser = self._browser_fetcher.pool.outage if self._browser_fetcher is not None else None
        return self.engine.job_notes().get(self.job_id) or browser or self._spools.note

    async def _look_for_killed(self) -> None:
        """Other crawls of this home may be killed at any time."""
        while True:
            await asyncio.sleep(KILLED_EVERY_S)
            self.engine.leasing.is_alone = not self._home.has_other_crawls(self.job_id)
            if await self.engine.outages.keep_trying(self._home.take_over_killed, self.job_id):
                await self.engine.outages.keep_trying(self._async_store.run, disclaim_all_robots)

    async def _take_over(self, job: Job) -> None:
        """No other process works on this job: its leased requests return. Other processes work on other jobs."""
        await self._frontier.open_job(job.id, terms_of_job(self._home.store, job))
        self._frontier.lease_only_from([job.id])
        self._lock.keep_when_released()
        await self._home.take_over(job.id)
        await self._home.take_over_killed(job.id)
        self.engine.leasing.is_alone = not self._home.has_other_crawls(job.id)
        if self.engine.leasing.is_alone:
            await self._async_store.run(disclaim_all_robots)
        if job.spec.archive:
            await asyncio.to_thread(self._spools.check)
        await asyncio.to_thread(self._spools.adopt, self._home.store)
        set_state(self._home.store, job.id, JobState.RUNNING, time.time())

    async def _seed(self, job: Job) -> bool:
        """Offers the job's inputs; False if it was stopped before all were offered."""
        # If the inputs were offered and the frontier does not know the job, the frontier was lost.
        if job.seeded and (await self._frontier.figures(job.id)).found:
            return True
        for seeds in seeds_of(self._home.store, job.id):
            await self.engine.overflow.offer(seed_offers(job, seeds))
            await asyncio.sleep(0)
            if self.engine.stopping:
                return False
        if job.spec.spider is not None:
            # Imported here only: a crawl without a spider has no hooks.
            from shoal.store.crawl.job_hooks import start_offers

            if offers := start_offers(self._home.store, job.id):
                await self.engine.overflow.offer([offer_of(job.id, text) for text in offers])
        await self.engine.outages.keep_trying(self._async_store.run, mark_seeded, job.id)
        return True


async def _end_callback_tasks() -> None:
    """Tasks that callbacks left behind: the event loop would wait for one that ignores its cancellation."""
    from shoal.spiders.callback_tasks import end_tasks

    await end_tasks()
