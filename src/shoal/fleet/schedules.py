"""Schedules start jobs at set times. A schedule is validated when it is made; tend submits a job at each tick.

Ticks that were missed while no tend ran count as one, the latest. By default a scheduled job is a recrawl: it has the
schedule's name and fetches only what changed since the last one.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from shoal.errors import Unavailable, UnknownJob, UsageError
from shoal.fleet.cron import Cron
from shoal.fleet.fleet import Fleet
from shoal.fleet.scheduled_projects import due_fields
from shoal.fleet.scrapy_spec import no_sources, scrapy_spec
from shoal.fleet.submit import privileges, read_request, submit
from shoal.jobs.job_id import new_job_id
from shoal.model import JobSpec, Requester, ScrapyRun
from shoal.settings import Settings
from shoal.spiders.input_sources import Sources
from shoal.store.async_store import AsyncStore
from shoal.store.fleet.schedules import (
    Overlap,
    Run,
    RunState,
    Schedule,
    add_run,
    add_schedule,
    change_schedule,
    claim_run,
    due_runs,
    due_schedules,
    end_run,
    note_tick,
    unfinished_job,
)
from shoal.store.jobs import load_job
from shoal.store.store import Store
from shoal.telemetry import EventLogger

log = EventLogger(__name__)


@dataclass(frozen=True, slots=True)
class Template:
    """The job to submit at every tick, with the fields of a submit."""

    urls: Sequence[str | None] = ()
    rules: Mapping[str, Any] | None = None
    spider: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    by: Requester = Requester.OPERATOR
    scrapy: Mapping[str, Any] | None = None
    """If the job is one of a Scrapy project: see scheduled_projects.py."""

    def checked(self, settings: Settings, name: str) -> Template:
        """Adds the defaults of a recrawl and the private access of its owner. Raises UsageError for a job that could
        not be submitted now."""
        # What Scrapy fetches again is the spider's choice.
        refresh = {"refresh": True} if self.scrapy is None else {}
        template = replace(self, options={"name": name, **refresh, **self.options})
        spec = _spec(*template._asked(settings))
        if spec.credentials:
            raise UsageError("a schedule cannot store passwords in URLs: use a header 'Authorization: …' instead")
        private = {"allow_private": True} if spec.allow_private else {}
        return replace(template, options={**template.options, **private})

    def read(self, settings: Settings) -> tuple[Sources, Callable[[], JobSpec]]:
        """For a checked template, which already has its private access: the reading process grants no more."""
        return self._asked(replace(settings, allow_private=False))

    def given_by_admin(self, settings: Settings) -> list[str]:
        """The privileges in it that only an admin or the operator may give. Raises UsageError for a job that can no
        longer be submitted."""
        return [] if self.by is Requester.SUBMITTER else privileges(_spec(*self.read(settings)), settings.max_rate)

    def due(self, store: Store, job: str) -> Template:
        """As this job has it, whose time has come. Raises UsageError."""
        return self if self.scrapy is None else replace(self, scrapy=due_fields(store, self.scrapy, job))

    def _asked(self, settings: Settings) -> tuple[Sources, Callable[[], JobSpec]]:
        if self.scrapy is not None:
            given = dict(self.scrapy)
            spec = scrapy_spec(given.pop("spider"), ScrapyRun(**given), self.options)
            return no_sources(), lambda: spec.with_fields({"asked_by": self.by})
        return read_request(settings, self.urls, self.rules, self.spider, self.options, self.by)

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "urls": list(self.urls)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        raw = json.loads(text)
        return cls(**{**raw, "by": Requester(raw["by"])})


def _spec(sources: Sources, spec_once_read: Callable[[], JobSpec]) -> JobSpec:
    for _ in sources.inputs:
        pass
    return spec_once_read()


def make_schedule(
    store: Store,
    settings: Settings,
    name: str,
    cron: str,
    zone: str,
    overlap: Overlap,
    template: Template,
    owner: str | None = None,
) -> Schedule:
    """Raises UsageError if any part of it is invalid."""
    now = time.time()
    due_at = Cron(cron, zone).after(now)
    job = template.checked(settings, name).to_json()
    schedule = Schedule(new_job_id(), name, cron, zone, overlap, job, False, now, due_at, owner)
    add_schedule(store, schedule)
    return schedule


def amend_schedule(store: Store, id: str, given: Mapping[str, Any]) -> None:
    """Changes the given fields; does nothing if the schedule was removed. Raises UsageError."""

    def change(schedule: Schedule) -> Mapping[str, Any]:
        if not given.keys() & {"cron", "zone", "paused"}:
            return given
        now = {**asdict(schedule), **given}
        # Counted from now: ticks of the old expression, or during a pause, are not made up for.
        return {**given, "due_at": Cron(now["cron"], now["zone"]).after(time.time())}

    change_schedule(store, id, change)


def run_now(store: Store, schedule: Schedule) -> Run:
    """Adds a run that tend starts in its next round. Raises UsageError if an earlier job blocks it."""
    if schedule.overlap is Overlap.SKIP and (busy := unfinished_job(store, schedule.id)):
        raise UsageError(f"schedule {schedule.name!r}: job {busy} has not ended, and its overlap is skip")
    run = Run(schedule.id, time.time(), new_job_id(), RunState.DUE)
    add_run(store, run)
    return run


class Schedules:
    """Starts the jobs of schedules; tend calls it every round."""

    def __init__(self, settings: Settings, async_store: AsyncStore) -> None:
        self._settings = settings
        self._async_store = async_store

    async def fire(self) -> None:
        """Safe to repeat after an interruption. Raises Unavailable."""
        now = time.time()
        for schedule in await self._async_store.read(due_schedules, now):
            await self._note(schedule, now)
        waiting: set[str] = set()
        for schedule, run in await self._async_store.read(due_runs):
            if schedule.id in waiting:
                await self._end(schedule, run, RunState.SKIPPED, "the previous run is still waiting to start")
            elif not await self._begin(schedule, run):
                waiting.add(schedule.id)

    async def _note(self, schedule: Schedule, now: float) -> None:
        cron = Cron(schedule.cron, schedule.zone)
        tick = cron.last(now)
        missed = cron.count(schedule.due_at, tick) - 1
        if missed:
            text = f"schedule {schedule.name}: missed {missed} ticks while no tend ran; one run replaces them all"
            log.warning("ticks_missed", text, schedule=schedule.id, missed=missed)
        run = Run(schedule.id, tick, new_job_id(), RunState.DUE, missed)
        await self._async_store.run(note_tick, schedule, run, cron.after(now))

    async def _begin(self, schedule: Schedule, run: Run) -> bool:
        """Returns False if the run must wait."""
        busy = await self._async_store.read(unfinished_job, schedule.id)
        if busy and schedule.overlap is Overlap.SKIP:
            await self._end(schedule, run, RunState.SKIPPED, f"job {busy} had not ended")
        elif busy and schedule.overlap is Overlap.QUEUE:
            return False
        elif await self._async_store.run(claim_run, run, time.time()):
            await self._submit(schedule, run)
        return True

    async def _submit(self, schedule: Schedule, run: Run) -> None:
        try:
            # In a thread: reading a long list would block the event loop.
            await asyncio.to_thread(_submitted, self._settings, self._async_store.store, schedule, run)
        except UsageError as error:
            await self._end(schedule, run, RunState.FAILED, str(error))
        except Unavailable:
            await self._async_store.run(end_run, run, RunState.DUE)
            raise
        else:
            await self._end(schedule, run, RunState.BEGUN)

    async def _end(self, schedule: Schedule, run: Run, state: RunState, reason: str | None = None) -> None:
        await self._async_store.run(end_run, run, state, reason)
        if state is RunState.BEGUN:
            text = f"schedule {schedule.name}: job {run.job} is submitted"
            log.info("schedule_fired", text, schedule=schedule.id, job=run.job)
        else:
            text = f"schedule {schedule.name}: the run is {state}: {reason}"
            log.warning("schedule_skipped", text, schedule=schedule.id, state=state.value)


def _submitted(settings: Settings, store: Store, schedule: Schedule, run: Run) -> None:
    with suppress(UnknownJob):
        # The tend that claimed the run before may have submitted the job.
        load_job(store, run.job)
        return
    template = Template.from_json(schedule.job).due(store, run.job)
    sources, spec_once_read = template.read(settings)

    async def submit_run() -> None:
        fleet = Fleet(settings, store)
        try:
            await submit(fleet, sources, spec_once_read, run.job, schedule.owner)
        finally:
            await fleet.close()

    asyncio.run(submit_run())
