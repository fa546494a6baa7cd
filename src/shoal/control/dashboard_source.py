"""The jobs of the fleet as the source of the dashboard, with the same checks as the API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Blueprint, g

from shoal.control.api.records import explained
from shoal.control.async_bridge import Bridge
from shoal.control.auth import requester, require, require_for, require_to_feed
from shoal.control.job_figures import job_status_of, overview_of
from shoal.control.ownership import find_job, owner
from shoal.control.problems import Problem
from shoal.control.redis_sessions import RedisSessions
from shoal.dashboard.login import Login
from shoal.dashboard.pages import dashboard, error_page
from shoal.dashboard.source import FleetView, Process, Server, Viewer
from shoal.fleet.fleet import Fleet
from shoal.fleet.fleet_status import AtWork, FleetStatusReader
from shoal.fleet.patch_job import change_job
from shoal.fleet.patch_job import preview as look_ahead
from shoal.fleet.roster import entries
from shoal.fleet.schedule_view import schedule_record
from shoal.fleet.submit import Submitted, read_request
from shoal.fleet.submit import submit as submit_to_fleet
from shoal.frontier.contract import HostState
from shoal.jobs.deployment import JobStatus
from shoal.jobs.explain import Explanation
from shoal.jobs.job_overview import Overview
from shoal.jobs.revive_dead_letters import revive
from shoal.model import JobSpec, Lane
from shoal.model.options import OPTIONS, to_fields
from shoal.store.fleet.schedules import list_schedules
from shoal.store.fleet.tokens import TokenScope, find_token, list_tokens, token_of_id
from shoal.store.jobs import Job, count_jobs
from shoal.store.results.listings import Where
from shoal.store.results.pagination import Position, jobs_after
from shoal.store.store import Store


def fleet_dashboard(over: Bridge) -> Blueprint:
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

    made = dashboard(FleetSource(over), Login(RedisSessions(over), viewer_of, token_id))
    made.register_error_handler(Problem, lambda problem: error_page(problem.detail, problem.status))
    return made


class FleetSource:
    can_submit = True

    def __init__(self, over: Bridge) -> None:
        self._bridge = over
        self._status = FleetStatusReader(over.fleet_unopened)

    @property
    def title(self) -> str:
        return self._bridge.settings.shown("redis_url")

    @property
    def store(self) -> Store:
        return self._bridge.store

    def jobs(self, viewer: Viewer, after: Position | None, limit: int) -> list[tuple[Position, Job]]:
        return jobs_after(self.store, {} if viewer.owner is None else {"owner": viewer.owner}, after, limit)

    def find(self, viewer: Viewer, id: str) -> Job:
        return find_job(id)

    def status(self, job: Job) -> JobStatus:
        return job_status_of(job)

    def overview(self, job: Job) -> Overview:
        return overview_of(job)

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

    def preview(self, viewer: Viewer, job: Job, options: Mapping[str, Any]) -> str | None:
        spec = self._changed(job, options)
        seen = self._bridge.run_apart(lambda fleet: look_ahead(fleet, job, spec))
        about = "about " if seen.looked_at < seen.queued else ""
        return f"The change would drop {about}{seen.estimate:,} of {seen.queued:,} queued URLs."

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
        seen = self._bridge.run(self._status.read())
        settings, counts = self._bridge.settings, count_jobs(self.store, viewer.owner)
        others = self._others() if seen.redis_answers else []
        serving = Counter(lane for child in seen.at_work for lane in child.entry.lanes)
        tokens = list_tokens(self.store) if viewer.is_admin else []
        return FleetView(
            processes=[*others, *(_process(child) for child in seen.at_work)],
            servers=[
                Server("Redis", settings.shown("redis_url"), seen.redis_fault, f"{seen.redis_bytes / 1e6:,.1f} MB"),
                Server("Database", self.store.name, seen.database_fault, f"{seen.jobs:,} unfinished jobs"),
                Server("Archive", settings.shown("archive_url"), None),
            ],
            lanes=[(lane.value, serving[lane], counts.unfinished.get(lane, 0)) for lane in Lane],
            schedules=[_schedule(schedule_record(self.store, one)) for one in list_schedules(self.store, viewer.owner)],
            tokens=[
                {"name": one.name, "scope": one.scope, "created_at": one.created_at, "used_at": one.used_at}
                for one in tokens
            ],
        )

    def _others(self) -> list[Process]:
        roster = self._bridge.run(entries(self._bridge.connection))
        return [
            Process(one.role, one.machine, one.pid, "scheduling", None, 0, one.memory_bytes, one.waiting_for)
            for one in roster
            if one.role != "child"
        ]


def _process(child: AtWork) -> Process:
    entry = child.entry
    doing = f"crawls {entry.lane}" if entry.lane else "idle"
    return Process(
        "worker",
        entry.machine,
        entry.pid,
        doing,
        child.per_s,
        entry.in_flight,
        entry.memory_bytes,
        entry.waiting_for,
    )


def _schedule(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**record, "next": [at[:16].replace("T", " ") for at in record["next_runs"]]}
