"""Schedules, as the API takes and shows them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from shoal.control.models.fleet import TokenName as Name
from shoal.control.models.given import Body, Change, Told
from shoal.control.models.jobs import JobOrder
from shoal.store.schedules import Overlap, RunState

CronText = Annotated[
    str,
    Field(
        max_length=200,
        pattern=r"^\s*[0-9A-Za-z*,/#-]+(\s+[0-9A-Za-z*,/#-]+){4}\s*$",
        description="Minute, hour, day of the month, month, weekday: `30 4 * * mon`.",
    ),
]
Zone = Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9_+/-]+$", description="As in Europe/Berlin.")]


class ScheduleOrder(Body):
    """When to begin which job. Unless it says otherwise, the job has the schedule's name and `refresh`."""

    name: Name
    cron: CronText
    zone: Zone = "UTC"
    overlap: Overlap = Field(Overlap.SKIP, description="What becomes of a tick while an earlier job has not ended.")
    job: JobOrder


class ScheduleChange(Change):
    """What is left out stays as it is. A tick that passes while it is paused is not made up for."""

    cron: CronText | None = None
    zone: Zone | None = None
    overlap: Overlap | None = None
    paused: bool | None = None
    job: JobOrder | None = None


class RunShown(Told):
    at: str
    state: RunState
    job: str | None = Field(description="Of one that has begun, or is to begin.")
    missed: int = Field(description="Ticks before it that passed while nobody tended; this run stands for them too.")
    reason: str | None


class TemplateShown(Told):
    """The job, without what may be secret."""

    urls: int
    rules: bool
    spider: str | None
    options: dict[str, Any]


class ScheduleShown(Told):
    """When it runs, and how the last runs went, newest first."""

    id: str
    name: str
    cron: str
    zone: str
    overlap: Overlap
    paused: bool
    created_at: str
    next_runs: list[str] = Field(description="None while it is paused.")
    job: TemplateShown
    runs: list[RunShown]


class ScheduleList(Told):
    """By name."""

    schedules: list[ScheduleShown]
