"""The table of all jobs' segments: which machine still holds one, and which are in the archive.

The table lists a segment before any page row refers to it. A segment may reach the archive before its row says so.
So a caller that finds an open segment must look in the archive first.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import BigInteger, Column, ColumnElement, cast, delete, func, select, update

from shoal.errors import Unavailable
from shoal.store.archive.archive_folders import Archive
from shoal.store.database.upsert import Upsert, replace
from shoal.store.store import Store
from shoal.store.tables import segments as table
from shoal.store.tables import stored_files

OPEN = "open"
STORED = "stored"
LOST = "lost"

_UPSERT = Upsert(table, replace)


class Segment(NamedTuple):
    """A row, in the order of the table's columns."""

    job: str
    segment: str
    machine: str
    process: str
    state: str
    bytes: int
    at: float
    """When this row was written."""

    @property
    def name(self) -> str:
        """The name as references have it."""
        return f"{self.job}/{self.segment}"


def save_segment(store: Store, segment: Segment) -> None:
    with store.write() as db:
        _UPSERT.write(db, [segment])


def open_segments(store: Store, process: str | None = None, job: str | None = None) -> list[Segment]:
    """All open segments, or only those of a process or a job."""
    found = select(table).where(table.c.state == OPEN)
    if process is not None:
        found = found.where(table.c.process == process)
    if job is not None:
        found = found.where(table.c.job == job)
    with store.read() as db:
        return [Segment._make(row) for row in db.execute(found.order_by(table.c.segment))]


def note_stored(store: Store, archive: Archive, segments: Iterable[Segment]) -> list[Segment]:
    """Marks the segments that the archive has by now, and returns the others."""
    sizes = {segment: archive.stored_bytes(segment.name) for segment in segments}
    with store.write() as db:
        for segment, size in sizes.items():
            if size is not None:
                values = {"state": STORED, "bytes": size, "at": time.time()}
                db.execute(update(table).where(*_is(segment)).values(values))
    return [segment for segment, size in sizes.items() if size is None]


def mark_stored(store: Store, name: str, size: int) -> None:
    """The archive has this segment. Without effect if its job was deleted."""
    job, _, segment = name.partition("/")
    with store.write() as db:
        values = {"state": STORED, "bytes": size, "at": time.time()}
        db.execute(update(table).where(table.c.job == job, table.c.segment == segment).values(values))


def drop_empty(store: Store, segments: Iterable[Segment]) -> None:
    """Deletes the rows of those to which nothing was ever appended."""
    with store.write() as db:
        for segment in segments:
            db.execute(delete(table).where(*_is(segment), table.c.bytes == 0))


def archived_bytes(store: Store, job: str, but: str = "") -> int:
    """The size of the job's records and files, as last reported by the processes that write them. `but` excludes a
    segment, by its name without the job."""
    records = select(_sum(table.c.bytes)).where(table.c.job == job, table.c.segment != but)
    files = select(_sum(stored_files.c.bytes)).where(stored_files.c.job == job)
    with store.read() as db:
        return int(db.execute(select(records.scalar_subquery() + files.scalar_subquery())).scalar_one())


def _sum(column: Column[int]) -> ColumnElement[int]:
    # PostgreSQL's sum is a decimal.
    return cast(func.coalesce(func.sum(column), 0), BigInteger)


def size_of(store: Store, archive: Archive, job: str) -> int:
    """Like `archived_bytes`, but uses the current size of open segments that this machine can read."""
    # Not from the archive: a bucket may be away, and is not asked at every glance at a job.
    spooled = ((segment, archive.spooled_bytes(segment.name)) for segment in open_segments(store, job=job))
    unreported = sum(size - segment.bytes for segment, size in spooled if size is not None)
    return archived_bytes(store, job) + unreported


def require_segment(store: Store, archive: Archive, name: str) -> None:
    """Raises Unavailable, with the segment's location, if this machine cannot read it."""
    if archive.bytes_of(name) is not None:
        return
    job, _, segment = name.partition("/")
    with store.read() as db:
        row = db.execute(select(table).where(table.c.job == job, table.c.segment == segment)).one_or_none()
    if row is not None and row.state == LOST:
        raise Unavailable(
            f"the archived responses in {name} are lost, because machine {row.machine} never came back: "
            "crawl the page again"
        )
    if row is not None and row.state == OPEN:
        raise Unavailable(_held(Segment._make(row)))


def require_segments(store: Store, archive: Archive, job: str) -> None:
    """Raises Unavailable, with the location, if this machine cannot yet read one of the job's segments."""
    for segment in open_segments(store, job=job):
        if archive.bytes_of(segment.name) is None:
            raise Unavailable(_held(segment))


def machines_lost(store: Store, job: str) -> list[str]:
    """The machines whose loss took responses of this job with them."""
    lost = select(table.c.machine).distinct().where(table.c.job == job, table.c.state == LOST)
    with store.read() as db:
        return sorted(db.execute(lost).scalars())


def _held(segment: Segment) -> str:
    return (
        f"{segment.name} is still on {segment.machine}, in the spool of process {segment.process}: try again in a "
        "minute; if that process has died, start a worker there"
    )


def _is(segment: Segment) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.job == segment.job, table.c.segment == segment.segment
