"""Describes a schedule for people and programs: its next runs, its job, and the results of its last runs."""

from __future__ import annotations

import time
from typing import Any

from shoal.fleet.cron import Cron
from shoal.fleet.scheduled_projects import why_not_due
from shoal.fleet.schedules import Template
from shoal.jobs.mask_secrets import options_without_secrets
from shoal.store.fleet.schedules import Run, RunState, Schedule, last_runs
from shoal.store.results.columns import iso_time
from shoal.store.store import Store

NEXT_SHOWN = 3
RUNS_SHOWN = 5


def schedule_record(store: Store, schedule: Schedule) -> dict[str, Any]:
    template = Template.from_json(schedule.job)
    scrapy = template.scrapy or {}
    ticks = [] if schedule.paused else Cron(schedule.cron, schedule.zone).next_runs(time.time(), NEXT_SHOWN)
    return {
        "id": schedule.id,
        "name": schedule.name,
        "cron": schedule.cron,
        "zone": schedule.zone,
        "overlap": schedule.overlap.value,
        "paused": schedule.paused,
        "created_at": iso_time(schedule.created_at),
        "next_runs": [tick.isoformat() for tick in ticks],
        "job": {
            "urls": sum(url is not None for url in template.urls),
            "rules": template.rules is not None,
            "spider": template.spider or scrapy.get("spider"),
            "project": scrapy.get("name"),
            "version": scrapy.get("version"),
            "options": options_without_secrets(template.options),
        },
        "cannot_run": why_not_due(store, template.scrapy),
        "runs": [_run_record(run) for run in last_runs(store, schedule.id, RUNS_SHOWN)],
    }


def _run_record(run: Run) -> dict[str, Any]:
    return {
        "at": iso_time(run.tick),
        "state": run.state.value,
        "job": run.job if run.state in (RunState.DUE, RunState.BEGUN) else None,
        "missed": run.missed,
        "reason": run.reason,
    }
