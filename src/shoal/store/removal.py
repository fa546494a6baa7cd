"""A job removed with all that was kept for it: rows, and segments of the archive.

The job itself goes last, so that a removal which was interrupted can be repeated.
"""

from __future__ import annotations

from sqlalchemy import Table, delete, select, tuple_, update

from shoal.store import tables
from shoal.store.archive.archive import Archive
from shoal.store.jobs import Job
from shoal.store.store import Store

_AT_ONCE = 2_000
_OF_JOBS = (
    *(tables.items, tables.rejects, tables.contents, tables.pages, tables.redirects, tables.dead, tables.drops),
    *(tables.waiting, tables.offers, tables.inputs, tables.cookies, tables.tallies, tables.quality, tables.item_types),
)


def remove_job(store: Store, archive: Archive, job: Job) -> None:
    """Of a job that has ended, and that nobody holds a lease of."""
    _leave_no_reference(store, job)
    for table in _OF_JOBS:
        while _removed_some(store, table, job.id):
            pass
    archive.remove(job.id)
    with store.write() as db:
        db.execute(delete(tables.segments).where(tables.segments.c.job == job.id))
        db.execute(delete(tables.jobs).where(tables.jobs.c.id == job.id))


def _removed_some(store: Store, table: Table, job: str) -> bool:
    """Some at a time, so that nobody waits for the removal of a million."""
    key = tuple_(*table.primary_key)
    some = select(*table.primary_key).where(table.c.job == job).limit(_AT_ONCE)
    with store.write() as db:
        return db.execute(delete(table).where(key.in_(some))).rowcount > 0


def _leave_no_reference(store: Store, job: Job) -> None:
    """Pages that came again as they were, in later jobs of the same name, have their bodies here."""
    pages, jobs = tables.pages, tables.jobs
    namesakes = select(jobs.c.id).where(jobs.c.name == select(jobs.c.name).where(jobs.c.id == job.id).scalar_subquery())
    elsewhere = pages.c.job.in_(namesakes), pages.c.job != job.id
    with store.write() as db:
        leading_here = pages.c.archive.startswith(f"{job.id}/", autoescape=True)
        db.execute(update(pages).where(*elsewhere, leading_here).values(archive=None))
