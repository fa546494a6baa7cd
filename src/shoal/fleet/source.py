"""How a worker process comes by the jobs whose requests it leases: from the store, with its spider and its archive."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from shoal.engine.beginning import SEEDS_AT_ONCE, callbacks_of, scope_of, work_on
from shoal.engine.work import Work
from shoal.errors import ShoalError, UnknownJob, UsageError
from shoal.fetch.curl import Fetcher
from shoal.fetch.guard import Guard
from shoal.fetch.intake import Intake
from shoal.model import JobSpec
from shoal.spiders.naming import SPIDER_FILE, SPIDER_MODULE
from shoal.store.archive.spools import Spools
from shoal.store.exclusions import stored_exclusions
from shoal.store.inputs import seed_targets
from shoal.store.jobs import Job, load_job
from shoal.store.remembered import load_cookies
from shoal.store.store import Store
from shoal.store.writer import Writer
from shoal.telemetry import Events
from shoal.urls import Exclusions

MOST_TOLD = 1_000
"""Jobs of which it was said that they cannot be worked on; beyond so many it is said again."""

log = Events(__name__)


@dataclass
class Source:
    store: Store
    writer: Writer
    spools: Spools
    exclusions: Exclusions
    """Of this machine; the fleet's come from the store."""
    spiders: tuple[str, ...]
    """Modules whose spiders may run here; empty: any."""
    allow_private: bool
    """Whether jobs of the API may reach private addresses from here."""
    _fetchers: dict[tuple[str, bool, str, bool], Fetcher] = field(default_factory=dict)
    _intake: Intake = field(default_factory=Intake)
    _unloadable: set[str] = field(default_factory=set)
    _lines: list[str] = field(default_factory=list)
    _with_lines: Exclusions | None = None

    async def take_up(self, job: str) -> Work:
        """Raises UsageError if it is not known here, or its spider cannot be loaded."""
        found = await self._found(job)
        with self._telling(found.about):
            self._check_allowed(found.spec)
            work = await asyncio.to_thread(self._load, found, self._fetcher(found.spec))
        work.exclusions = await self._all_exclusions()
        log.info("job_taken_up", f"job {job} is worked on here", **found.about)
        return work

    async def renew(self, work: Work) -> None:
        job = await self.writer.read(load_job, work.job)
        for url in job.admitted:
            work.scope.admit(url)
        if job.version > 1:
            if job.spec.scope is not work.spec.scope:
                # Made whole first: pages are read meanwhile, and their links judged by the scope there is.
                work.set_scope(await asyncio.to_thread(scope_of, self.store, job, job.spec))
            work.change(job.spec)
        work.exclusions = await self._all_exclusions()
        while part := await self.writer.read(seed_targets, work.job, work.seed_line, SEEDS_AT_ONCE):
            work.add_seeds(given.target.url for given in part if given.target is not None)
            work.seed_line = part[-1].line
        written_at = _written_at(job.spec)
        if work.callbacks is not None and written_at != work.written_at:
            # A spider's file was mended.
            with self._telling(job.about):
                work.callbacks = await asyncio.to_thread(callbacks_of, job.spec)
            work.written_at = written_at
        work.jar.load(await self.writer.read(load_cookies, work.job))

    async def retire(self, work: Work) -> None:
        if work.recorder is not None:
            await self.writer.run(work.recorder.seal)
        log.info("job_put_away", f"job {work.job} is put away here", **work.about)

    async def close(self) -> None:
        for fetcher in self._fetchers.values():
            await fetcher.aclose()

    async def _all_exclusions(self) -> Exclusions:
        """Those of this machine's file and those of the fleet."""
        lines = await self.writer.read(stored_exclusions)
        if lines != self._lines:
            self._lines, self._with_lines = lines, self.exclusions.with_lines(lines)
        return self._with_lines or self.exclusions

    async def _found(self, job: str) -> Job:
        try:
            return await self.writer.read(load_job, job)
        except UnknownJob:
            with self._telling({"job": job}):
                raise UnknownJob(
                    "it is queued in Redis, but this database does not have it: if two fleets share that Redis, give "
                    "one of them another SHOAL_REDIS_URL"
                ) from None

    @contextmanager
    def _telling(self, about: dict[str, str]) -> Iterator[None]:
        """That a job cannot be worked on is said once, however often it is tried."""
        job = about["job"]
        try:
            yield
        except ShoalError as error:
            if job not in self._unloadable:
                log.warning("job_unloadable", f"job {job} cannot be worked on here: {error}", **about)
                if len(self._unloadable) >= MOST_TOLD:
                    self._unloadable.clear()
                self._unloadable.add(job)
            raise
        self._unloadable.discard(job)

    def _load(self, job: Job, fetcher: Fetcher) -> Work:
        written_at = _written_at(job.spec)
        work = work_on(job, self.store, self.spools, fetcher, callbacks_of(job.spec))
        work.written_at = written_at
        work.is_changed = job.version > 1
        return work

    def _fetcher(self, spec: JobSpec) -> Fetcher:
        """One for all jobs that agree on it: they share connections."""
        private_proxy = spec.reaches_private_proxy(self.allow_private)
        key = spec.agent, spec.reaches_private(self.allow_private), spec.private_way_out, private_proxy
        if key not in self._fetchers:
            guard = Guard(spec.reaches_private(self.allow_private), spec.private_way_out, private_proxy)
            self._fetchers[key] = Fetcher(spec.agent, guard, intake=self._intake)
        return self._fetchers[key]

    def _check_allowed(self, spec: JobSpec) -> None:
        if not self.spiders or spec.spider is None:
            return
        module = SPIDER_MODULE.fullmatch(spec.spider)
        if module is None or module["module"] not in self.spiders:
            raise UsageError(f"{spec.spider} is not among the modules of SHOAL_SPIDERS: {', '.join(self.spiders)}")


def _written_at(spec: JobSpec) -> float:
    """When the file of its spider was last written; 0 if it is none."""
    found = SPIDER_FILE.fullmatch(spec.spider) if spec.spider else None
    try:
        return Path(found["path"]).stat().st_mtime if found else 0.0
    except OSError:
        return 0.0
