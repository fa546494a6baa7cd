"""Schedules: made, listed, changed, run at once and removed."""

from __future__ import annotations

from contextlib import suppress

from shoal.control.auth import asker, require_for
from shoal.control.bridge import bridge
from shoal.control.models.jobs import JobOrder
from shoal.control.models.schedules import ScheduleChange, ScheduleList, ScheduleOrder, ScheduleShown
from shoal.control.ownership import find_schedule, owner
from shoal.control.problems import Problem, conflict
from shoal.control.routes import READ, SUBMIT, Reply, Routes
from shoal.errors import Unavailable, UsageError
from shoal.fleet.scheduled import schedule_record
from shoal.fleet.schedules import Template, amend_schedule, make_schedule, run_now
from shoal.model import Asker
from shoal.store.schedules import Schedule, is_taken, list_schedules, remove_schedule

routes = Routes("schedules")


@routes.get("/schedules", READ, answers={200: ScheduleList})
def schedules() -> Reply:
    """List the schedules that the token may see, with their next and last runs."""
    store = bridge().store
    return {"schedules": [schedule_record(store, schedule) for schedule in list_schedules(store, owner())]}


@routes.post("/schedules", SUBMIT, answers={201: ScheduleShown}, body=ScheduleOrder, counted=True, keyed=True)
def add_schedule(body: ScheduleOrder) -> Reply:
    """Begin a job by the clock, again and again; its jobs belong to whom the schedule does.

    The job is checked now as a submitted one is, and what needs an admin there needs one here.
    """
    store, whose = bridge().store, owner()
    if is_taken(store, body.name, whose):
        raise conflict(f"there is a schedule {body.name!r} already: remove it first, or choose another name")
    template = _template(body.job)
    settings = bridge().settings
    made = make_schedule(store, settings, body.name, body.cron, body.zone, body.overlap, template, whose)
    return schedule_record(store, made), 201


@routes.get("/schedules/<id>", READ, answers={200: ScheduleShown})
def schedule(schedule: Schedule) -> Reply:
    """One schedule, by its id or name."""
    return schedule_record(bridge().store, schedule)


@routes.patch("/schedules/<id>", SUBMIT, answers={200: ScheduleShown}, body=ScheduleChange)
def change(schedule: Schedule, body: ScheduleChange) -> Reply:
    """Change when or what a schedule begins, or pause it; jobs that it has begun go on.

    One whose job has what needs an admin is changed and run by an admin only.
    """
    _check_steerable(schedule)
    # Here, not while it is locked: this may load a spider.
    job = {"job": _template(body.job).checked(bridge().settings, schedule.name).to_json()} if body.job else {}
    amend_schedule(bridge().store, schedule.id, {**body.model_dump(exclude_none=True, exclude={"job"}), **job})
    return schedule_record(bridge().store, find_schedule(schedule.id))


@routes.post("/schedules/<id>/run", SUBMIT, answers={202: ScheduleShown}, counted=True, keyed=True)
def run_schedule(schedule: Schedule) -> Reply:
    """Begin its job now, besides its ticks; also of one that is paused."""
    _check_steerable(schedule)
    over = bridge()
    over.run(over.connection.check())
    try:
        run_now(over.store, schedule)
    except UsageError as error:
        raise conflict(str(error)) from error
    with suppress(Unavailable):
        # Tend finds it without being rung.
        over.run(over.fleet.ring())
    return schedule_record(over.store, schedule), 202


@routes.delete("/schedules/<id>", SUBMIT, answers={204: None})
def drop_schedule(schedule: Schedule) -> Reply:
    """Remove a schedule; the jobs that it has begun stay.

    One whose job has what needs an admin is removed by an admin only.
    """
    _check_steerable(schedule)
    remove_schedule(bridge().store, schedule.id)
    return None


def _check_steerable(schedule: Schedule) -> None:
    """Raises a Problem if what it begins is an admin's."""
    if asker() is not Asker.ADMIN and (had := _given_by_admin(schedule)):
        raise Problem(403, f"this needs the scope admin, because of what the schedule's job has: {', '.join(had)}")


def _given_by_admin(found: Schedule) -> list[str]:
    try:
        return Template.from_json(found.job).given_by_admin(bridge().settings)
    except UsageError as error:
        # Nobody can tell any more.
        return [str(error)]


def _template(order: JobOrder) -> Template:
    options = order.options()
    require_for(options, order.rules)
    return Template(order.urls, order.rules, order.spider, options, asker())
