"""The jobs of the fleet as the source of the dashboard, with the same checks as the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

from flask import Blueprint, Response, g

from shoal.control.api.records import explained
from shoal.control.async_bridge import Bridge
from shoal.control.auth import requester, require, require_for, require_to_feed
from shoal.control.fleet_view import FleetViewReader
from shoal.control.job_figures import Overviews
from shoal.control.ownership import find_job, owner, shown_overview
from shoal.control.problems import Problem
from shoal.control.redis_sessions import RedisSessions
from shoal.control.streamed_files import attachment
from shoal.dashboard.login import Login
from shoal.dashboard.pages import dashboard, error_page
from shoal.dashboard.source import FleetView, Viewer
from shoal.errors import FrontierLost
from shoal.fleet.fleet import Fleet
from shoal.fleet.patch_job import change_job
from shoal.fleet.submit import Submitted, read_request
from shoal.fleet.submit import submit as submit_to_fleet
from shoal.frontier.contract import HostState
from shoal.jobs.deployment import JobStatus
from shoal.jobs.explain import Explanation
from shoal.jobs.job_overview import Overview
from shoal.jobs.preview_change import preview_change
from shoal.jobs.revive_dead_letters import revive
from shoal.model import JobSpec, Target, Trail
from shoal.model.options import OPTIONS, to_fields
from shoal.store.archive.archive_folders import Archive
from shoal.store.fleet.tokens import TokenScope, find_token, token_of_id
from shoal.store.jobs import Job
from shoal.store.results.listings import Where
from shoal.store.results.pagination import Position, jobs_after
from shoal.store.store import Store
from shoal.telemetry.read_logs import Event, recent_events


def fleet_dashboard(over: Bridge, overviews: Overviews) -> Blueprint:
    def viewer_of(token: str) -> Viewer | None:
        known = token_of_id(over.store, token)
        if known is None:
            return None
        # The checks of the API look for it there.
        g.token = known
        return Viewer(known.name, known.scope, owner())

    def token_id(text: str) -> str | None:
        known = find_token(over.store, text)
        return None if known is None else known.id

    made = dashboard(FleetSource(over, overviews), Login(RedisSessions(over), viewer_of, token_id))
    made.register_error_handler(Problem, lambda problem: error_page(problem.detail, problem.status))
    return made


class FleetSource:
    can_submit = True
    shoal = "shoal"

    def __init__(self, over: Bridge, overviews: Overviews) -> None:
        self._bridge = over
        self._overviews = overviews
        self._fleet_view = FleetViewReader(over, overviews.background)

    @property
    def title(self) -> str:
        return self._bridge.settings.shown("redis_url")

    @property
    def store(self) -> Store:
        return self._bridge.store

    @property
    def background(self) -> Executor:
        return self._overviews.background

    def archive(self) -> Archive:
        return self._bridge.archive.reader()

    def jobs(self, viewer: Viewer, after: Position | None, limit: int) -> list[tuple[Position, Job]]:
        return jobs_after(self.store, {} if viewer.owner is None else {"owner": viewer.owner}, after, limit)

    def find(self, viewer: Viewer, id: str) -> Job:
        return find_job(id)

    def status(self, job: Job) -> JobStatus:
        return self._overviews.job_status(job)

    def overview(self, job: Job) -> Overview:
        return shown_overview(self._overviews.counted.soon(job))

    def next_requests(self, job: Job, most: int) -> list[tuple[Target, Trail]]:
        async def find() -> list[tuple[Target, Trail]]:
            with suppress(FrontierLost):
                return [request async for request in self._bridge.frontier.queued(job.id, most)]
            return []

        return self._bridge.run(find())[:most]

    def logs(self, viewer: Viewer, job: Job, most: int) -> list[Event] | None:
        return recent_events(self._bridge.settings.home, job.id, most) if viewer.is_admin else None

    def next_runs(self, viewer: Viewer) -> Mapping[str, str]:
        return self._fleet_view.next_runs(viewer)

    def workers(self) -> str | None:
        return self._fleet_view.workers()

    def download(self, parts: Iterator[bytes], media: str, name: str) -> Response:
        return attachment(parts, media, name)

    def hosts(self, names: Sequence[str]) -> list[HostState]:
        async def find() -> list[HostState]:
            found = [await self._bridge.frontier.host(name) for name in names]
            return [host for host in found if host is not None]

        return self._bridge.run(find())

    def explain(self, job: Job, url: str) -> Explanation:
        return explained(job, url)

    def control(self, viewer: Viewer, job: Job, verb: str) -> str:
        require(TokenScope.SUBMIT)
        said: str = self._bridge.run_apart(lambda fleet: getattr(fleet, verb)(job))
        return said

    def retry(self, viewer: Viewer, job: Job, where: Where) -> int:
        require(TokenScope.SUBMIT)
        return self._bridge.run_apart(lambda fleet: revive(fleet, job, where))

    def change(self, viewer: Viewer, job: Job, options: Mapping[str, Any]) -> None:
        self._changed(job, options)
        fields = to_fields(options)
        self._bridge.run_apart(lambda fleet: change_job(fleet, job.id, lambda old: old.with_fields(fields), None))

    def preview(self, viewer: Viewer, job: Job, options: Mapping[str, Any]) -> str:
        spec = self._changed(job, options)
        return self._bridge.run_apart(lambda fleet: preview_change(fleet, job, spec)).as_text()

    def _changed(self, job: Job, options: Mapping[str, Any]) -> JobSpec:
        """The job's options with the change. Raises a Problem if the viewer may not make it."""
        require(TokenScope.SUBMIT)
        require_for(options, None)
        changed = job.spec.with_fields(to_fields(options))
        selects = any(OPTIONS[name].selects_links for name in options)
        if selects or changed.limits.allow_more_than(job.spec.limits):
            require_to_feed(job.spec)
        return changed

    def submit(self, viewer: Viewer, urls: Sequence[str], options: Mapping[str, Any]) -> str:
        require(TokenScope.SUBMIT)
        rules = options.get("rules")
        given = {name: value for name, value in options.items() if name != "rules"}
        require_for(given, rules)

        async def make(fleet: Fleet) -> Submitted:
            sources, read = read_request(fleet.settings, urls, rules, None, given, requester(), False)
            return await submit_to_fleet(fleet, sources, read, None, owner())

        return self._bridge.run_apart(make).id

    def fleet(self, viewer: Viewer) -> FleetView | None:
        return self._fleet_view.read(viewer)
