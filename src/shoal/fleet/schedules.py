"""Jobs that begin by the clock: a schedule is checked when it is made, and its ticks are turned into jobs by tend.

Ticks that passed while nobody tended count as one, the latest. A job of a schedule is a recrawl: unless it says
otherwise it has the schedule's name and asks only for what changed since the last one.
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
from shoal.fleet.place import Fleet
from shoal.fleet.submit import privileges, read_asked, submit
from shoal.jobs.job_id import new_job_id
from shoal.model import Asker, JobSpec
from shoal.settings import Settings
from shoal.spiders.sources import Sources
from shoal.store.jobs import load_job
from shoal.store.schedules import (
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
from shoal.store.store import Store
from shoal.store.writer import Writer
from shoal.telemetry import Events

log = Events(__name__)


@dataclass(frozen=True, slots=True)
class Template:
    """What to submit at every tick: as `submit_asked` takes it."""

    urls: Sequence[str | None] = ()
    rules: Mapping[str, Any] | None = None
    spider: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    by: Asker = Asker.OPERATOR

    def checked(self, settings: Settings, name: str) -> Template:
        """With what a recrawl has by default, and what its maker may reach. Raises UsageError for what could not be
        submitted now."""
        whole = replace(self, options={"name": name, "refresh": True, **self.options})
        spec = _spec(*whole._asked(settings))
        if spec.credentials:
            raise UsageError("a schedule keeps no passwords of URLs: give it a header 'Authorization: …' instead")
        private = {"allow_private": True} if spec.allow_private else {}
        return replace(whole, options={**whole.options, **private})

    def read(self, settings: Settings) -> tuple[Sources, Callable[[], JobSpec]]:
        """Of one that was checked: what it may reach was settled then, and whoever reads it adds nothing."""
        return self._asked(replace(settings, allow_private=False))

    def given_by_admin(self, settings: Settings) -> list[str]:
        """What it has that an admin gave it, or whoever holds the servers, and no submitter may. Raises UsageError for
        one that cannot be submitted any more."""
        return [] if self.by is Asker.SUBMITTER else privileges(_spec(*self.read(settings)), settings.max_rate)

    def _asked(self, settings: Settings) -> tuple[Sources, Callable[[], JobSpec]]:
        return read_asked(settings, self.urls, self.rules, self.spider, self.options, self.by)

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "urls": list(self.urls)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        raw = json.loads(text)
        return cls(**{**raw, "by": Asker(raw["by"])})


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
    """Raises UsageError for whatever about it cannot work."""
    now = time.time()
    due_at = Cron(cron, zone).after(now)
    job = template.checked(settings, name).to_json()
    schedule = Schedule(new_job_id(), name, cron, zone, overlap, job, False, now, due_at, owner)
    add_schedule(store, schedule)
    return schedule


def amend_schedule(store: Store, id: str, given: Mapping[str, Any]) -> None:
    """Changes what is given of it, by the names of its fields; one that is gone stays gone. Raises UsageError."""

    def change(schedule: Schedule) -> Mapping[str, Any]:
        if not given.keys() & {"cron", "zone", "paused"}:
            return given
        now = {**asdict(schedule), **given}
        # From now on: what passed by the old clock, or while it was paused, is not made up for.
        return {**given, "due_at": Cron(now["cron"], now["zone"]).after(time.time())}

    change_schedule(store, id, change)


def run_now(store: Store, schedule: Schedule) -> Run:
    """To be begun at tend's next round. Raises UsageError if an earlier job stands in its way."""
    if schedule.overlap is Overlap.SKIP and (busy := unfinished_job(store, schedule.id)):
        raise UsageError(f"schedule {schedule.name!r}: job {busy} has not ended, and its overlap is skip")
    run = Run(schedule.id, time.time(), new_job_id(), RunState.DUE)
    add_run(store, run)
    return run


class Schedules:
    """Tend's part."""

    def __init__(self, settings: Settings, writer: Writer) -> None:
        self._settings = settings
        self._writer = writer

    async def fire(self) -> None:
        """Can be repeated after whatever ended it. Raises Unavailable."""
        now = time.time()
        for schedule in await self._writer.read(due_schedules, now):
            await self._note(schedule, now)
        waiting: set[str] = set()
        for schedule, run in await self._writer.read(due_runs):
            if schedule.id in waiting:
                await self._end(schedule, run, RunState.SKIPPED, "the run before it waits to begin")
            elif not await self._begin(schedule, run):
                waiting.add(schedule.id)

    async def _note(self, schedule: Schedule, now: float) -> None:
        cron = Cron(schedule.cron, schedule.zone)
        tick = cron.last(now)
        missed = cron.count(schedule.due_at, tick) - 1
        if missed:
            words = f"schedule {schedule.name}: {missed} ticks passed while nobody tended; one run is for all"
            log.warning("ticks_missed", words, schedule=schedule.id, missed=missed)
        run = Run(schedule.id, tick, new_job_id(), RunState.DUE, missed)
        await self._writer.run(note_tick, schedule, run, cron.after(now))

    async def _begin(self, schedule: Schedule, run: Run) -> bool:
        """False: it waits."""
        busy = await self._writer.read(unfinished_job, schedule.id)
        if busy and schedule.overlap is Overlap.SKIP:
            await self._end(schedule, run, RunState.SKIPPED, f"job {busy} had not ended")
        elif busy and schedule.overlap is Overlap.QUEUE:
            return False
        elif await self._writer.run(claim_run, run, time.time()):
            await self._submit(schedule, run)
        return True

    async def _submit(self, schedule: Schedule, run: Run) -> None:
        try:
            # A long list takes a while to be read: not on the event loop.
            await asyncio.to_thread(_submitted, self._settings, self._writer.store, schedule, run)
        except UsageError as error:
            await self._end(schedule, run, RunState.FAILED, str(error))
        except Unavailable:
            await self._writer.run(end_run, run, RunState.DUE)
            raise
        else:
            await self._end(schedule, run, RunState.BEGUN)

    async def _end(self, schedule: Schedule, run: Run, state: RunState, reason: str | None = None) -> None:
        await self._writer.run(end_run, run, state, reason)
        if state is RunState.BEGUN:
            words = f"schedule {schedule.name}: job {run.job} begins"
            log.info("schedule_fired", words, schedule=schedule.id, job=run.job)
        else:
            words = f"schedule {schedule.name}: its run is {state}: {reason}"
            log.warning("schedule_skipped", words, schedule=schedule.id, state=state.value)


def _submitted(settings: Settings, store: Store, schedule: Schedule, run: Run) -> None:
    with suppress(UnknownJob):
        # Whoever claimed it before may have come so far.
        load_job(store, run.job)
        return
    template = Template.from_json(schedule.job)
    sources, spec_once_read = template.read(settings)

    async def hand_over() -> None:
        fleet = Fleet(settings, store)
        try:
            await submit(fleet, sources, spec_once_read, run.job, schedule.owner)
        finally:
            await fleet.close()

    asyncio.run(hand_over())
