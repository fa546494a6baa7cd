"""The table of all jobs' segments: which machine still holds one, and which are in the archive.

The table lists a segment before any page row refers to it. A segment may reach the archive before its row says so.
So a caller that finds an open segment must look in the archive first.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from shoal.errors import Unavailable
from shoal.store.archive.archive_folders import Archive
from shoal.store.database.plain_sql import first, run, value
from shoal.store.database.sqlite_script import columns_of
from shoal.store.database.upsert import Upsert, replace
from shoal.store.store import Store

OPEN = "open"
STORED = "stored"
LOST = "lost"

_UPSERT = Upsert("segments", replace)
_SEGMENTS = f"SELECT {', '.join(columns_of('segments').names)} FROM segments"
_THIS = "job = :job AND segment = :segment"
_STORED = f"UPDATE segments SET state = '{STORED}', bytes = :bytes, at = :at WHERE {_THIS}"


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
    with store.write_plain() as db:
        _UPSERT.write(db, [segment])


def open_segments(store: Store, process: str | None = None, job: str | None = None) -> list[Segment]:
    """All open segments, or only those of a process or a job."""
    values = {name: of for name, of in (("process", process), ("job", job)) if of is not None}
    these = "".join(f" AND {name} = :{name}" for name in values)
    with store.read_plain() as db:
        rows = run(db, f"{_SEGMENTS} WHERE state = '{OPEN}'{these} ORDER BY segment", values)
    return [Segment._make(row) for row in rows]


def note_stored(store: Store, archive: Archive, segments: Iterable[Segment]) -> list[Segment]:
    """Marks the segments that the archive has by now, and returns the others."""
    sizes = {segment: archive.stored_bytes(segment.name) for segment in segments}
    with store.write_plain() as db:
        for segment, size in sizes.items():
            if size is not None:
                run(db, _STORED, {"job": segment.job, "segment": segment.segment, "bytes": size, "at": time.time()})
    return [segment for segment, size in sizes.items() if size is None]


def mark_stored(store: Store, name: str, size: int) -> None:
    """The archive has this segment. Without effect if its job was deleted."""
    job, _, segment = name.partition("/")
    with store.write_plain() as db:
        run(db, _STORED, {"job": job, "segment": segment, "bytes": size, "at": time.time()})


def drop_empty(store: Store, segments: Iterable[Segment]) -> None:
    """Deletes the rows of those to which nothing was ever appended."""
    empty = f"DELETE FROM segments WHERE {_THIS} AND bytes = 0"
    with store.write_plain() as db:
        for segment in segments:
            run(db, empty, {"job": segment.job, "segment": segment.segment})


def archived_bytes(store: Store, job: str, but: str = "") -> int:
    """The size of the job's records and files, as last reported by the processes that write them. `but` excludes a
    segment, by its name without the job."""
    # PostgreSQL's sum is a decimal.
    size = "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM"
    both = f"({size} segments WHERE job = :job AND segment <> :but) + ({size} stored_files WHERE job = :job)"
    with store.read_plain() as db:
        return int(value(db, f"SELECT {both}", {"job": job, "but": but}))


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
    with store.read_plain() as db:
        row = first(db, f"{_SEGMENTS} WHERE {_THIS}", {"job": job, "segment": segment})
    found = None if row is None else Segment._make(row)
    if found is not None and found.state == LOST:
        raise Unavailable(
            f"the archived responses in {name} are lost, because machine {found.machine} never came back: "
            "crawl the page again"
        )
    if found is not None and found.state == OPEN:
        raise Unavailable(_held(found))


def require_segments(store: Store, archive: Archive, job: str) -> None:
    """Raises Unavailable, with the location, if this machine cannot yet read one of the job's segments."""
    for segment in open_segments(store, job=job):
        if archive.bytes_of(segment.name) is None:
            raise Unavailable(_held(segment))


def machines_lost(store: Store, job: str) -> list[str]:
    """The machines whose loss took responses of this job with them."""
    with store.read_plain() as db:
        lost = run(db, f"SELECT DISTINCT machine FROM segments WHERE job = :job AND state = '{LOST}'", {"job": job})
    return sorted(machine for (machine,) in lost)


def _held(segment: Segment) -> str:
    return (
        f"{segment.name} is still on {segment.machine}, in the spool of process {segment.process}: try again in a "
        "minute; if that process has died, start a worker there"
    )
