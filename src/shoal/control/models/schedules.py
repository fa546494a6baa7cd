"""Models for schedules: request bodies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shoal.control.models.jobs import JobOrder
from shoal.control.models.strict_models import PatchBody, RequestBody
from shoal.control.models.tokens import TokenName as Name
from shoal.store.fleet.schedules import Overlap

CronText = Annotated[
    str,
    Field(
        max_length=200,
        pattern=r"^\s*([0-9A-Za-z*,/#-]+(\s+[0-9A-Za-z*,/#-]+){4}|@(hourly|daily|midnight|weekly|monthly|yearly|annually))\s*$",
        description="Minute, hour, day of the month, month, weekday: `30 4 * * mon`; or `@daily` and the like.",
    ),
]
Zone = Annotated[
    str, Field(max_length=100, pattern=r"^[A-Za-z0-9_+/-]+$", description="Time zone, such as Europe/Berlin.")
]


class ScheduleOrder(RequestBody):
    """A new schedule: when to start which job. By default the job has the schedule's name and `refresh`."""

    name: Name
    cron: CronText
    zone: Zone = "UTC"
    overlap: Overlap = Field(Overlap.SKIP, description="What to do at a tick when the previous job has not ended.")
    job: JobOrder


class ScheduleChange(PatchBody):
    """Fields that are left out do not change. Ticks during a pause are not made up for."""

    cron: CronText | None = None
    zone: Zone | None = None
    overlap: Overlap | None = None
    paused: bool | None = None
    job: JobOrder | None = None
