"""How workers run a spider of a project that callers name: for scrapyd's API, `POST /jobs` and schedules."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.control.async_bridge import bridge
from shoal.control.auth import requester
from shoal.control.models.jobs import JobOrder, ScrapyGiven
from shoal.control.scrapyd.known_projects import Project, find_project, project_names
from shoal.control.scrapyd.submitter_limits import given_by_admins
from shoal.errors import NeedsAdmin, UsageError
from shoal.fleet.scheduled_projects import JOBID, scheduled_fields
from shoal.fleet.scrapy_spec import check_options, scrapy_spec
from shoal.model import JobSpec, Requester, ScrapyRun


def project_run(
    found: Project,
    arguments: Mapping[str, str],
    settings: Mapping[str, str],
    processes: int,
    jobid: str | None,
) -> ScrapyRun:
    """Raises NeedsAdmin."""
    had = given_by_admins(settings, arguments, processes, bridge().settings.max_rate)
    if had and requester() is not Requester.ADMIN:
        raise NeedsAdmin(f"this needs a token with scope admin: {', '.join(had)}")
    named = {} if jobid is None else {JOBID: jobid}
    return ScrapyRun(found.place, {**arguments, **named}, settings, processes, found.name, found.version, jobid)


def ordered_spec(order: JobOrder, given: ScrapyGiven, id: str) -> JobSpec:
    """Raises UsageError and NeedsAdmin."""
    options = order.options()
    check_options(options)
    spec = scrapy_spec(given.spider, _run(_project(given), given, id), options)
    return spec.with_fields({"asked_by": requester()})


def scheduled_run(order: JobOrder, given: ScrapyGiven) -> Mapping[str, object]:
    """As a template of schedules has it. Raises UsageError and NeedsAdmin."""
    check_options(order.options())
    return scheduled_fields(given.spider, _run(_project(given), given, None), given.version or None)


def _run(found: Project, given: ScrapyGiven, jobid: str | None) -> ScrapyRun:
    return project_run(found, given.arguments, given.settings, given.processes, jobid)


def _project(given: ScrapyGiven) -> Project:
    try:
        found = find_project(given.project, given.version)
    except UsageError as error:
        known = ", ".join(project_names()) or "none"
        raise UsageError(f"{error}: this fleet has the projects {known}") from None
    found.check_spider(given.spider)
    return found
