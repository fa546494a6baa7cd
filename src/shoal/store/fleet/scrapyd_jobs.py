"""The jobs that were scheduled through scrapyd's API, by the project and id that they have there."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, func, select, true

from shoal.model import ENDED, JobState
from shoal.store.database.storable_text import storable
from shoal.store.jobs import Job, job_from_row
from shoal.store.owned_jobs import owned_by
from shoal.store.store import Store
from shoal.store.tables import jobs
from shoal.store.tables import scrapyd_jobs as table

_HAS_ENDED = jobs.c.state.in_(ENDED)
_WAS_WITHDRAWN = (jobs.c.state == JobState.CANCELLED) & jobs.c.started_at.is_(None)
"""Cancelled before it began: scrapyd forgets such a job."""


def unfinished_scrapyd_jobs(store: Store, owner: str | None, project: str | None = None) -> list[Job]:
    """Oldest first; only this owner's if an owner is given."""
    return _listed(store, _jobs(owner, project).where(~_HAS_ENDED).order_by(jobs.c.created_at, jobs.c.id))


def finished_scrapyd_jobs(store: Store, owner: str | None, limit: int, project: str | None = None) -> list[Job]:
    """Those that ended last are first."""
    ended = _jobs(owner, project).where(_HAS_ENDED, ~_WAS_WITHDRAWN)
    return _listed(store, ended.order_by(jobs.c.finished_at.desc(), jobs.c.id.desc()).limit(limit))


def scrapyd_jobs_of_id(store: Store, owner: str | None, jobid: str, project: str | None = None) -> list[Job]:
    """Newest first. Callers may give an id more than once."""
    alike = _jobs(owner, project).where(table.c.jobid == storable(jobid), ~_WAS_WITHDRAWN)
    return _listed(store, alike.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()))


def count_scrapyd_jobs(store: Store, owner: str | None) -> tuple[int, int, int]:
    """How many have not begun, have begun, and have ended."""
    began = jobs.c.started_at.is_not(None)
    counted = select(_HAS_ENDED, began, func.count()).select_from(_joined).where(owned_by(owner), ~_WAS_WITHDRAWN)
    with store.read() as db:
        rows = db.execute(counted.group_by(_HAS_ENDED, began)).all()
    pending = sum(n for ended, begun, n in rows if not ended and not begun)
    running = sum(n for ended, begun, n in rows if not ended and begun)
    return pending, running, sum(n for ended, _, n in rows if ended)


def has_scrapyd_jobs(store: Store, owner: str | None, project: str) -> bool:
    return bool(_listed(store, _jobs(owner, project).limit(1)))


_joined = jobs.join(table, table.c.job == jobs.c.id)


def _jobs(owner: str | None, project: str | None) -> Select[*tuple[Any, ...]]:
    of_project: ColumnElement[bool] = true() if project is None else table.c.project == storable(project)
    return select(jobs).select_from(_joined).where(owned_by(owner), of_project)


def _listed(store: Store, found: Select[*tuple[Any, ...]]) -> list[Job]:
    with store.read() as db:
        return [job_from_row(row) for row in db.execute(found)]
