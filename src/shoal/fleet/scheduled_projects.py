"""Scrapy projects in schedules, as a template has them: the fields of a ScrapyRun, and `spider`.

Of an uploaded project the template has the name, and the version if the schedule names one. Which package that is, is
decided when a job is due. A version that a schedule needs is not deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shoal.errors import UsageError
from shoal.fleet.scrapy_versions import find_version
from shoal.model import PACKAGE, ScrapyRun
from shoal.store.fleet.schedules import scrapy_schedules
from shoal.store.fleet.scrapy_projects import versions_of
from shoal.store.store import Store

JOBID = "_job"
"""The argument by which scrapyd tells a spider the id of its job."""

Fields = Mapping[str, Any]


def scheduled_fields(spider: str, run: ScrapyRun, version: str | None) -> Fields:
    """`version` is the one that the schedule names; None: the latest when a job is due."""
    place = run.project if run.package is None else PACKAGE
    return {"spider": spider, **asdict(run), "project": place, "version": version}


def uploaded_name(given: Fields | None) -> str | None:
    """The name of its project; None: the project was not uploaded."""
    return str(given["name"]) if given is not None and given["project"] == PACKAGE else None


def due_fields(store: Store, given: Fields, job: str) -> Fields:
    """Those of a job that is due. Raises UsageError."""
    if given["name"] is None:
        return given
    named = {**given, "jobid": job, "arguments": {**given["arguments"], JOBID: job}}
    if (project := uploaded_name(given)) is None:
        return named
    try:
        found = find_version(store, project, given["version"])
    except UsageError:
        what = _described(project, given["version"])
        raise UsageError(f"{what} was deleted: upload it again, or remove the schedule") from None
    if given["spider"] not in found.spiders:
        raise UsageError(f"{_described(project, found.version)} has no spider '{given['spider']}'")
    return {**named, "project": f"{PACKAGE}{found.package}", "version": found.version}


def why_not_due(store: Store, given: Fields | None) -> str | None:
    """Why a job could not start now; None: nothing is known."""
    try:
        if given is not None:
            due_fields(store, given, "")
    except UsageError as error:
        return str(error)
    return None


def check_unscheduled(store: Store, project: str, version: str | None) -> None:
    """Raises UsageError if a schedule needs this version; without a version, if one needs the project."""
    others = any(one.version != version for one in versions_of(store, project))
    for schedule in scrapy_schedules(store):
        given = json.loads(schedule.job)["scrapy"]
        if uploaded_name(given) != project:
            continue
        if version is None or given["version"] == version or not (others or given["version"]):
            what = _described(project, version)
            raise UsageError(f"schedule '{schedule.name}' ({schedule.id}) needs {what}: change or remove it first")


def _described(project: str, version: str | None) -> str:
    return f"project '{project}'" if version is None else f"version '{version}' of project '{project}'"
