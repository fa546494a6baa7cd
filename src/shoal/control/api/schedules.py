"""Schedules: create, list, change, run and remove them."""

from __future__ import annotations

from contextlib import suppress

from shoal.client.responses.fleet import Schedule as ScheduleResponse
from shoal.client.responses.fleet import ScheduleList
from shoal.control.async_bridge import bridge
from shoal.control.auth import requester, require_for
from shoal.control.models.jobs import JobOrder
from shoal.control.models.schedules import ScheduleChange, ScheduleOrder
from shoal.control.ownership import find_schedule, owner
from shoal.control.problems import Problem, conflict
from shoal.control.routes import READ, SUBMIT, Reply, Routes
from shoal.control.scrapyd.project_runs import scheduled_run
from shoal.control.scrapyd.submitter_limits import given_by_admins
from shoal.errors import Unavailable, UsageError
from shoal.fleet.schedule_view import schedule_record
from shoal.fleet.schedules import Template, amend_schedule, make_schedule, run_now
from shoal.model import Requester
from shoal.store.fleet.schedules import Schedule, is_taken, list_schedules, remove_schedule

routes = Routes("schedules")


@routes.get("/schedules", READ, answers={200: ScheduleList})
def schedules() -> Reply:
    """List the schedules that the token may see, with their next and last runs."""
    store = bridge().store
    return {"schedules": [schedule_record(store, schedule) for schedule in list_schedules(store, owner())]}


@routes.post("/schedules", SUBMIT, answers={201: ScheduleResponse}, body=ScheduleOrder, counted=True, keyed=True)
def add_schedule(body: ScheduleOrder) -> Reply:
    """Create a schedule, which starts a job at set times; its jobs have the same owner as the schedule.

    The job is validated now, like a submitted one, and its options need the same scope.
    """
    store, whose = bridge().store, owner()
    if is_taken(store, body.name, whose):
        raise conflict(f"there is a schedule {body.name!r} already: remove it first, or choose another name")
    template = _template(body.job)
    settings = bridge().settings
    made = make_schedule(store, settings, body.name, body.cron, body.zone, body.overlap, template, whose)
    return schedule_record(store, made), 201


@routes.get("/schedules/<id>", READ, answers={200: ScheduleResponse})
def schedule(schedule: Schedule) -> Reply:
    """One schedule, by id or name."""
    return schedule_record(bridge().store, schedule)


@routes.patch("/schedules/<id>", SUBMIT, answers={200: ScheduleResponse}, body=ScheduleChange)
def change(schedule: Schedule, body: ScheduleChange) -> Reply:
    """Change the times or the job of a schedule, or pause it; jobs that it has started continue.

    If the schedule's job has options that need an admin, only an admin may change or run it.
    """
    _check_steerable(schedule)
    # Before the row is locked: this may load a spider.
    job = {"job": _template(body.job).checked(bridge().settings, schedule.name).to_json()} if body.job else {}
    amend_schedule(bridge().store, schedule.id, {**body.model_dump(exclude_none=True, exclude={"job"}), **job})
    return schedule_record(bridge().store, find_schedule(schedule.id))


@routes.post("/schedules/<id>/run", SUBMIT, answers={202: ScheduleResponse}, counted=True, keyed=True)
def run_schedule(schedule: Schedule) -> Reply:
    """Start its job now, in addition to its set times; also works for a paused schedule."""
    _check_steerable(schedule)
    over = bridge()
    over.run(over.connection.check())
    try:
        run_now(over.store, schedule)
    except UsageError as error:
        raise conflict(str(error)) from error
    with suppress(Unavailable):
        # Tend also finds the run without being woken.
        over.run(over.fleet.ring())
    return schedule_record(over.store, schedule), 202


@routes.delete("/schedules/<id>", SUBMIT, answers={204: None})
def drop_schedule(schedule: Schedule) -> Reply:
    """Remove a schedule; the jobs that it has started stay.

    If the schedule's job has options that need an admin, only an admin may remove it.
    """
    _check_steerable(schedule)
    remove_schedule(bridge().store, schedule.id)
    return None


def _check_steerable(schedule: Schedule) -> None:
    """Raises a Problem if its job has options that need an admin."""
    if requester() is not Requester.ADMIN and (had := _given_by_admin(schedule)):
        raise Problem(403, f"this needs a token with scope admin, because the schedule's job has {', '.join(had)}")


def _given_by_admin(found: Schedule) -> list[str]:
    settings = bridge().settings
    template = Template.from_json(found.job)
    try:
        return [*template.given_by_admin(settings), *_scrapy_given_by_admin(template, settings.max_rate)]
    except UsageError as error:
        # The job is no longer valid, so its privileges are unknown: require an admin.
        return [str(error)]


def _scrapy_given_by_admin(template: Template, max_rate: float) -> list[str]:
    given = template.scrapy
    if given is None or template.by is Requester.SUBMITTER:
        return []
    return given_by_admins(given["settings"], given["arguments"], given["processes"], max_rate)


def _template(order: JobOrder) -> Template:
    options = order.options()
    require_for(options, order.rules)
    scrapy = None if order.scrapy is None else scheduled_run(order, order.scrapy)
    return Template(order.urls, order.rules, order.spider, options, requester(), scrapy)
