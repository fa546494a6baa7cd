"""Removes a job with its rows and its archive segments.

The job's own row goes last, so that an interrupted removal can be repeated. A segment that a process still has in its
spool reaches the archive up to a minute later; `sweep_segments` removes it from there.
"""

from __future__ import annotations

from sqlalchemy import Table, delete, select, tuple_, update

from shoal.store import tables
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.segment_table import OPEN, note_stored, open_segments
from shoal.store.archive.stored_files import free_files
from shoal.store.jobs import Job
from shoal.store.proxies.figures import pool_of_job
from shoal.store.store import Store

_AT_ONCE = 2_000
_OF_JOBS = (
    *(
        tables.items,
        tables.rejects,
        tables.files,
        tables.contents,
        tables.canonicals,
        tables.pages,
        tables.redirects,
        tables.dead,
        tables.drops,
    ),
    *(tables.waiting, tables.offers, tables.inputs, tables.cookies, tables.tallies, tables.quality, tables.item_types),
    *(tables.deliveries, tables.hooks, tables.series, tables.changes, tables.refused, tables.sinks),
    tables.scrapyd_jobs,
)


def remove_job(store: Store, archive: Archive, job: Job) -> None:
    """The job must have ended, and no worker may hold a lease of it."""
    _leave_no_reference(store, job)
    free_files(store, archive, job.id)
    for table in _OF_JOBS:
        while _removed_some(store, table, job.id):
            pass
    _remove_segments(store, archive, job.id)
    with store.write() as db:
        db.execute(delete(tables.proxy_figures).where(tables.proxy_figures.c.pool == pool_of_job(job.id)))
        db.execute(delete(tables.jobs).where(tables.jobs.c.id == job.id))


def sweep_segments(store: Store, archive: Archive) -> None:
    """Removes the segments of jobs that no longer exist."""
    segments = tables.segments
    orphaned = select(segments.c.job).distinct().where(segments.c.job.not_in(select(tables.jobs.c.id)))
    with store.read() as db:
        jobs = db.execute(orphaned).scalars().all()
    for job in jobs:
        _remove_segments(store, archive, job)


def _remove_segments(store: Store, archive: Archive, job: str) -> None:
    """Removes all segments but those still in spools. Their rows stay, so that the next sweep finds them."""
    segments = tables.segments
    note_stored(store, archive, open_segments(store, job=job))
    archive.remove(job)
    with store.write() as db:
        db.execute(delete(segments).where(segments.c.job == job, segments.c.state != OPEN))


def _removed_some(store: Store, table: Table, job: str) -> bool:
    """Deletes a limited number of rows, so that no other writer waits for the removal of a million."""
    key = tuple_(*table.primary_key)
    some = select(*table.primary_key).where(table.c.job == job).limit(_AT_ONCE)
    with store.write() as db:
        return db.execute(delete(table).where(key.in_(some))).rowcount > 0


def _leave_no_reference(store: Store, job: Job) -> None:
    """Clears references from later jobs of the same name: their unchanged pages share this job's archived bodies."""
    pages, jobs = tables.pages, tables.jobs
    namesakes = select(jobs.c.id).where(jobs.c.name == select(jobs.c.name).where(jobs.c.id == job.id).scalar_subquery())
    elsewhere = pages.c.job.in_(namesakes), pages.c.job != job.id
    with store.write() as db:
        leading_here = pages.c.archive.startswith(f"{job.id}/", autoescape=True)
        db.execute(update(pages).where(*elsewhere, leading_here).values(archive=None))
