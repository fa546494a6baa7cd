"""The jobs of a home as the source of the pages. Whoever may open the home may do everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from werkzeug.wrappers import Response

from shoal.dashboard.source import FleetView, Viewer
from shoal.errors import FrontierLost, UsageError
from shoal.frontier.contract import HostState
from shoal.jobs.deployment import Deployment, JobStatus
from shoal.jobs.explain import Explanation, explain
from shoal.jobs.job_overview import Overview
from shoal.jobs.overview_cache import OverviewCache
from shoal.jobs.preview_change import preview_change
from shoal.jobs.revive_dead_letters import revive
from shoal.model import Target, Trail
from shoal.model.options import to_fields
from shoal.store.archive.archive_folders import Archive
from shoal.store.fleet.tokens import TokenScope
from shoal.store.jobs import Job, load_job
from shoal.store.results.listings import Where
from shoal.store.results.pagination import Position, jobs_after
from shoal.store.store import Store
from shoal.telemetry.read_logs import Event, recent_events
from shoal.urls import Exclusions

T = TypeVar("T")

IN_BACKGROUND = 2
OWNER = "home"
"""Stands for the token of the person who opened the home."""


def owner_of_home(token: str) -> Viewer | None:
    return Viewer("you", TokenScope.ADMIN) if token == OWNER else None


class HomeSource:
    can_submit = False

    def __init__(self, title: str, open_place: Callable[[], Deployment], exclusions: Exclusions) -> None:
        self.title = title
        self.shoal = f"shoal --home {quote(title)}"
        self._exclusions = exclusions
        # SQLite's connections belong to one thread: the frontier is used in this one only.
        self._thread = ThreadPoolExecutor(1, "home")
        self._place = self._thread.submit(open_place).result()
        self.background = ThreadPoolExecutor(IN_BACKGROUND, "background")
        self._counted = OverviewCache(lambda: self._place, self.status, self.background)

    @property
    def store(self) -> Store:
        return self._place.store

    def archive(self) -> Archive:
        return self._place.archive.reader()

    def jobs(self, viewer: Viewer, after: Position | None, limit: int) -> list[tuple[Position, Job]]:
        return jobs_after(self.store, {}, after, limit, fleet_only=False)

    def find(self, viewer: Viewer, id: str) -> Job:
        return load_job(self.store, id)

    def status(self, job: Job) -> JobStatus:
        return self._run(lambda: self._place.job_status(job))

    def overview(self, job: Job) -> Overview:
        return self._counted.soon(job)

    def next_requests(self, job: Job, most: int) -> list[tuple[Target, Trail]]:
        async def find() -> list[tuple[Target, Trail]]:
            with suppress(FrontierLost):
                return [request async for request in self._place.frontier.queued(job.id, most)]
            return []

        return self._run(find)

    def logs(self, viewer: Viewer, job: Job, most: int) -> list[Event] | None:
        return recent_events(Path(self.title), job.id, most)

    def next_runs(self, viewer: Viewer) -> Mapping[str, str]:
        return {}

    def workers(self) -> str | None:
        return None

    def download(self, parts: Iterator[bytes], media: str, name: str) -> Response:
        return Response(parts, headers={"Content-Disposition": f'attachment; filename="{name}"'}, content_type=media)

    def hosts(self, names: Sequence[str]) -> list[HostState]:
        async def find() -> list[HostState]:
            found = [await self._place.frontier.host(name) for name in names]
            return [host for host in found if host is not None]

        return self._run(find)

    def explain(self, job: Job, url: str) -> Explanation:
        return self._run(lambda: explain(self._place, job, url, self._exclusions))

    def control(self, viewer: Viewer, job: Job, verb: str) -> str:
        said: str | None = self._run(lambda: getattr(self._place, verb)(job))
        if said is None:
            raise UsageError(
                f"no process works on job {job.id}: continue it in a terminal with `{self.shoal} resume {job.id}`"
            )
        return said

    def retry(self, viewer: Viewer, job: Job, where: Where) -> int:
        return self._run(lambda: revive(self._place, job, where))

    def change(self, viewer: Viewer, job: Job, options: Mapping[str, Any]) -> None:
        self._run(lambda: self._place.change(job, to_fields(options)))

    def preview(self, viewer: Viewer, job: Job, options: Mapping[str, Any]) -> str:
        spec = job.spec.with_fields(to_fields(options))
        return self._run(lambda: preview_change(self._place, job, spec)).as_text()

    def submit(self, viewer: Viewer, urls: Sequence[str], options: Mapping[str, Any]) -> str:
        raise UsageError(f"a job of a home runs in the process of its command: `{self.shoal} crawl URL` starts one")

    def fleet(self, viewer: Viewer) -> FleetView | None:
        return None

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return self._thread.submit(lambda: asyncio.run(work())).result()
