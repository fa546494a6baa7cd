"""How a worker process comes by the jobs whose requests it leases: from the store, with its spider and its archive."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.engine.beginning import callbacks_of, work_on
from shoal.engine.work import Work
from shoal.errors import UsageError
from shoal.fetch.curl import Fetcher
from shoal.fetch.guard import Guard
from shoal.model import JobSpec
from shoal.spiders.naming import SPIDER_FILE, SPIDER_MODULE
from shoal.store.archive.spools import Spools
from shoal.store.jobs import Job, load_job
from shoal.store.remembered import load_cookies
from shoal.store.store import Store
from shoal.store.writer import Writer
from shoal.urls import Exclusions

if TYPE_CHECKING:
    from shoal.engine.callbacks import Callbacks


@dataclass
class Source:
    store: Store
    writer: Writer
    spools: Spools
    exclusions: Exclusions
    spiders: tuple[str, ...]
    """Modules whose spiders may run here; empty: any."""
    _fetchers: dict[tuple[str, bool], Fetcher] = field(default_factory=dict)
    _loaded_at: dict[str, float] = field(default_factory=dict)

    async def take_up(self, job: str) -> Work:
        """Raises UsageError if its spider cannot be loaded here."""
        found = await self.writer.read(load_job, job)
        self._check_allowed(found.spec)
        return await asyncio.to_thread(self._load, found, self._fetcher(found.spec))

    async def renew(self, work: Work) -> None:
        job = await self.writer.read(load_job, work.job)
        for url in job.admitted:
            work.scope.admit(url)
        if work.callbacks is not None and self._written_at(job.spec) != self._loaded_at.get(work.job):
            # A spider's file was mended.
            work.callbacks = await asyncio.to_thread(self._callbacks, job)
        work.jar.load(await self.writer.read(load_cookies, work.job))

    async def retire(self, work: Work) -> None:
        if work.recorder is not None:
            await self.writer.run(work.recorder.seal)

    async def close(self) -> None:
        for fetcher in self._fetchers.values():
            await fetcher.aclose()

    def _load(self, job: Job, fetcher: Fetcher) -> Work:
        work = work_on(job, self.store, self.spools, fetcher, self._callbacks(job))
        work.exclusions = self.exclusions
        return work

    def _callbacks(self, job: Job) -> Callbacks | None:
        self._loaded_at[job.id] = self._written_at(job.spec)
        return callbacks_of(job.spec)

    def _written_at(self, spec: JobSpec) -> float:
        """When the file of its spider was last written; 0 if it is none."""
        found = SPIDER_FILE.fullmatch(spec.spider) if spec.spider else None
        try:
            return Path(found["path"]).stat().st_mtime if found else 0.0
        except OSError:
            return 0.0

    def _fetcher(self, spec: JobSpec) -> Fetcher:
        """One for all jobs that agree on it: they share connections."""
        key = spec.agent, spec.allow_private
        if key not in self._fetchers:
            self._fetchers[key] = Fetcher(spec.agent, Guard(spec.allow_private))
        return self._fetchers[key]

    def _check_allowed(self, spec: JobSpec) -> None:
        if not self.spiders or spec.spider is None:
            return
        module = SPIDER_MODULE.fullmatch(spec.spider)
        if module is None or module["module"] not in self.spiders:
            raise UsageError(f"{spec.spider} is not among the modules of SHOAL_SPIDERS: {', '.join(self.spiders)}")
