"""A minimal process that writes to an archive, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import select

from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Capture, Reference
from shoal.store.archive.recorder import RecordedGroup, Recorder
from shoal.store.archive.segment_table import Segment
from shoal.store.archive.spools import ALONE, SealLimits, Spools
from shoal.store.archive.stored_segments import FolderSegments
from shoal.store.store import Store
from shoal.store.tables import segments

JOB = "j1"
ABOUT = {"software": "shoal/test", "robots": "obey"}


def root_of(archive: Archive) -> Path:
    """The folder of an archive that is one."""
    assert isinstance(archive.stored, FolderSegments)
    return archive.stored.root


class Writing:
    def __init__(
        self,
        store: Store,
        archive: Archive,
        *,
        machine: str = "here",
        sealing: SealLimits = ALONE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.spools = Spools(archive, machine, sealing, clock)
        self._recorders: dict[str, Recorder] = {}

    def begin(self, job: str = JOB, max_bytes: int | None = None) -> None:
        self._recorders[job] = Recorder(self.spools, job, ABOUT, max_bytes)

    def draft(self, *captures: Capture) -> None:
        for each in captures:
            self._recorders[JOB].draft(each)

    def append(self, captures: Sequence[Capture], job: str = JOB) -> RecordedGroup:
        if job not in self._recorders:
            self.begin(job)
        return self._recorders[job].append(self.store, captures)

    def seal(self) -> None:
        self.spools.seal_all(self.store)

    def end(self) -> None:
        self.seal()
        self.spools.close()

    def die(self) -> None:
        """Leaves everything as a killed process does."""
        self.spools.close()


def kept(
    store: Store, archive: Archive, *captures: Capture, job: str = JOB, max_bytes: int | None = None
) -> RecordedGroup:
    """Appends all in one group, and seals the segment."""
    writing = Writing(store, archive)
    writing.begin(job, max_bytes)
    appended = writing.append(captures, job)
    writing.end()
    return appended


def segments_of(store: Store) -> list[Segment]:
    with store.read() as db:
        return [Segment._make(row) for row in db.execute(select(segments).order_by(segments.c.segment))]


def body_at(archive: Archive, reference: Reference | None) -> bytes:
    assert reference is not None
    return archive.record(reference).http[1]


def only_segment(archive: Archive, job: str = JOB) -> str:
    (segment,) = archive.segments(job)
    return segment
