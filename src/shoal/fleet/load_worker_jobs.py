"""Loads the jobs whose requests a worker process leases: from the store, with spider, fetcher and archive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engine.active_job import ActiveJob, JobResources
from shoal.engine.job_hooks import begin_job, finish_job
from shoal.engine.job_start import SEEDS_AT_ONCE, callbacks_of, make_active_job, scope_of
from shoal.engine.proxies.learn_rows import changed_rows
from shoal.engine.proxies.load_pool import ProxySettings, load_exits
from shoal.engine.proxies.shared_limits import SharedLimits
from shoal.errors import ShoalError, Unavailable, UnknownJob, UsageError
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.body_memory import BodyMemory
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.tls_policy import TlsPolicy
from shoal.model import JobSpec
from shoal.spiders.job_hooks import HookFailed
from shoal.spiders.spider import Spider
from shoal.spiders.spider_reference import SPIDER_FILE, SPIDER_MODULE
from shoal.store.archive.spools import Spools
from shoal.store.async_store import AsyncStore
from shoal.store.crawl.inputs import seed_targets
from shoal.store.crawl.job_cookies import load_cookies
from shoal.store.crawl.job_hooks import jobs_to_finish
from shoal.store.crawl.learnt_counts import load_learnt_counts
from shoal.store.fleet.exclusions import stored_exclusions
from shoal.store.job_state import fail_unless_ended
from shoal.store.jobs import Job, load_job
from shoal.store.proxies.figures import add_proxy_figures
from shoal.store.store import Store
from shoal.telemetry import EventLogger
from shoal.urls import Exclusions

if TYPE_CHECKING:
    from shoal.browser.browser_fetcher import BrowserFetcher
    from shoal.browser.browser_pool import BrowserPool

MOST_LOGGED = 1_000
"""Unloadable jobs that are remembered as logged; beyond this number they are logged again."""
FINISH_AGAIN_S = 60.0

log = EventLogger(__name__)


@dataclass
class FleetJobLoader:
    store: Store
    async_store: AsyncStore
    spools: Spools
    exclusions: Exclusions
    """The exclusions of this machine; those of the fleet come from the store."""
    spiders: tuple[str, ...]
    """Modules whose spiders may run here; if empty, all may."""
    allow_private: bool
    """Whether jobs from the API may fetch from private addresses here."""
    cancel: Callable[[str], Awaitable[None]]
    """Takes the requests of a job out of the frontier."""
    proxy_settings: ProxySettings = field(default_factory=ProxySettings)
    proxy_limits: SharedLimits | None = None
    browser_pool: BrowserPool | None = None
    """None: this process has no browser."""
    _fetchers: dict[tuple[str, bool, str, bool, TlsPolicy], Fetcher] = field(default_factory=dict)
    _body_memory: BodyMemory = field(default_factory=BodyMemory)
    _unloadable: set[str] = field(default_factory=set)
    _finish_again_at: dict[str, float] = field(default_factory=dict)
    """Ended jobs whose spider could not be loaded here, and when to try again: it may be gone for good."""
    _lines: list[str] = field(default_factory=list)
    _with_lines: Exclusions | None = None

    async def load(self, job: str) -> ActiveJob:
        """Raises UsageError if the database does not have the job, or its spider cannot be loaded."""
        found = await self._found(job)
        with self._logging_failure(found.about):
            self._check_allowed(found.spec)
            exclusions = await self._all_exclusions()
            active_job = await asyncio.to_thread(self._load, found, self._fetcher(found.spec), exclusions)
            if active_job.callbacks is not None and active_job.callbacks.spider.hooks:
                active_job.shared = await self._begin(found, active_job.callbacks.spider)
        log.info("job_taken_up", f"job {job} is loaded", **found.about)
        return active_job

    async def reload(self, active_job: ActiveJob) -> None:
        job = await self.async_store.read(load_job, active_job.id)
        for url in job.admitted:
            active_job.scope.admit(url)
        if job.version > 1:
            if job.spec.scope is not active_job.spec.scope:
                # Built completely before it is set: pages are parsed meanwhile with the current scope.
                active_job.set_scope(await asyncio.to_thread(scope_of, self.store, job, job.spec))
            active_job.change(job.spec)
        active_job.exclusions = await self._all_exclusions()
        while part := await self.async_store.read(seed_targets, active_job.id, active_job.seed_line, SEEDS_AT_ONCE):
            active_job.add_seeds(given.target.url for given in part if given.target is not None)
            active_job.seed_line = part[-1].line
        written_at = _written_at(job.spec)
        if active_job.callbacks is not None and written_at != active_job.spider_written_at:
            # The spider's file was edited.
            with self._logging_failure(job.about):
                active_job.use(await asyncio.to_thread(callbacks_of, job.spec))
            active_job.spider_written_at = written_at
        active_job.jars.load(await self.async_store.read(load_cookies, active_job.id))
        await self.reload_learnt(active_job)

    async def reload_learnt(self, active_job: ActiveJob) -> None:
        active_job.load_learnt(await self.async_store.read(load_learnt_counts, active_job.id))

    async def _begin(self, job: Job, spider: Spider) -> Mapping[str, Any]:
        """Runs the spider's `on_start`, if no process has. Nothing is fetched before: every lease waits for the job."""
        try:
            return await begin_job(self.async_store, job, spider, alone=False)
        except HookFailed as failed:
            await self.async_store.run(fail_unless_ended, job.id, time.time(), str(failed))
            await self.cancel(job.id)
            raise

    async def finish_ended(self) -> None:
        """Runs `on_finish` for the fleet's ended jobs whose spiders can be loaded here. Raises Unavailable."""
        for id in await self.async_store.read(jobs_to_finish, time.time()):
            if time.monotonic() < self._finish_again_at.get(id, 0.0):
                continue
            try:
                job = await self.async_store.read(load_job, id)
                self._check_allowed(job.spec)
                callbacks = await asyncio.to_thread(callbacks_of, job.spec)
                failure = callbacks and await finish_job(self.async_store, job, callbacks.spider, alone=False)
            except Unavailable:
                raise
            except ShoalError:
                # Another process runs it, or can load the spider; or the job was deleted.
                if len(self._finish_again_at) >= MOST_LOGGED:
                    self._finish_again_at.clear()
                self._finish_again_at[id] = time.monotonic() + FINISH_AGAIN_S
                continue
            if failure:
                log.error("on_finish_failed", f"job {id} has ended, but its spider's {failure}", **job.about)

    async def unload(self, active_job: ActiveJob) -> None:
        if active_job.exits is not None and (rows := list(changed_rows(active_job.exits.pool, time.time()))):
            await self.async_store.run(add_proxy_figures, rows)
        if active_job.recorder is not None:
            await self.async_store.run(active_job.recorder.seal)
        await active_job.close_browser()
        log.info("job_put_away", f"job {active_job.id} is unloaded", **active_job.about)

    async def close(self) -> None:
        for fetcher in self._fetchers.values():
            await fetcher.aclose()

    async def _all_exclusions(self) -> Exclusions:
        """The exclusions of this machine's file and those of the fleet."""
        lines = await self.async_store.read(stored_exclusions)
        if lines != self._lines:
            self._lines, self._with_lines = lines, self.exclusions.with_lines(lines)
        return self._with_lines or self.exclusions

    async def _found(self, job: str) -> Job:
        try:
            return await self.async_store.read(load_job, job)
        except UnknownJob:
            with self._logging_failure({"job": job}):
                raise UnknownJob(
                    "it is queued in Redis, but not in this database: if two fleets share that Redis, give one of them "
                    "another SHOAL_REDIS_URL"
                ) from None

    @contextmanager
    def _logging_failure(self, about: dict[str, str]) -> Iterator[None]:
        """Logs only the first failure to load a job, however often it is tried."""
        job = about["job"]
        try:
            yield
        except ShoalError as error:
            if job not in self._unloadable:
                log.warning("job_unloadable", f"job {job} cannot be loaded here: {error}", **about)
                if len(self._unloadable) >= MOST_LOGGED:
                    self._unloadable.clear()
                self._unloadable.add(job)
            raise
        self._unloadable.discard(job)

    def _load(self, job: Job, fetcher: Fetcher, exclusions: Exclusions) -> ActiveJob:
        written_at = _written_at(job.spec)
        resources = JobResources(
            fetcher,
            callbacks_of(job.spec),
            exclusions=exclusions,
            open_browser=None
            if self.browser_pool is None
            else partial(self._open_browser, self.browser_pool, job.spec),
            is_changed=job.version > 1,
            spider_written_at=written_at,
            exits=load_exits(job.spec, job.id, self.store, self.proxy_settings, self.proxy_limits),
        )
        return make_active_job(job, self.store, self.spools, resources)

    def _fetcher(self, spec: JobSpec) -> Fetcher:
        """Jobs with the same network options share a fetcher and its connections."""
        private_proxy, tls = spec.reaches_private_proxy(self.allow_private), TlsPolicy.of(spec)
        key = spec.agent, spec.reaches_private(self.allow_private), spec.private_way_out, private_proxy, tls
        if key not in self._fetchers:
            self._fetchers[key] = Fetcher(spec.agent, self._guard(spec), self._body_memory, tls=tls)
        return self._fetchers[key]

    def _open_browser(self, pool: BrowserPool, spec: JobSpec) -> BrowserFetcher:
        """Each job has its own: scripts of one job's pages are not kept for another's."""
        from shoal.browser.browser_fetcher import BrowserFetcher

        return BrowserFetcher(pool, spec.user_agent, self._guard(spec), insecure=spec.insecure)

    def _guard(self, spec: JobSpec) -> AddressGuard:
        private, private_proxy = (
            spec.reaches_private(self.allow_private),
            spec.reaches_private_proxy(self.allow_private),
        )
        return AddressGuard(private, spec.private_way_out, private_proxy)

    def _check_allowed(self, spec: JobSpec) -> None:
        if not self.spiders or spec.spider is None:
            return
        module = SPIDER_MODULE.fullmatch(spec.spider)
        if module is None or module["module"] not in self.spiders:
            raise UsageError(f"{spec.spider} is not allowed here: SHOAL_SPIDERS lists {', '.join(self.spiders)}")


def _written_at(spec: JobSpec) -> float:
    """The modification time of the spider's file; 0 if the spider is not a file."""
    found = SPIDER_FILE.fullmatch(spec.spider) if spec.spider else None
    try:
        return Path(found["path"]).stat().st_mtime if found else 0.0
    except OSError:
        return 0.0
