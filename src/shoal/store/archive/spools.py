"""The segments that one process writes, one spool per job, and when they move to the archive.

The store knows a segment before anything is appended to it. If the archive cannot be written, sealed segments wait in
the spool, up to a limit; beyond it nothing more is accepted. A bucket is written by another thread (`uploader.py`).
Callers must not call from two threads at once.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from shoal.errors import ObjectStoreRefused, Unavailable
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.segment_table import OPEN, Segment, save_segment
from shoal.store.archive.spool import SPOOL, Spool
from shoal.store.archive.spool_transfer import adopt, bytes_behind, make_folder, remove_if_empty, seal_left, send
from shoal.store.archive.stored_files import note_use, spool_files
from shoal.store.archive.uploader import Uploader
from shoal.store.store import Store

SEGMENT_BYTES = 64_000_000
REPORT_EVERY_S = 10.0
"""How often an open segment's size is reported to the store."""
REMOTE_AFTER_S = 300.0
"""With a bucket, the maximum age of an open segment if `SealLimits` has none: until then only this machine has it."""
DRAIN_S = 2.0
_SEGMENTS_IN_SPOOL = 4
"""A spool that may hold little has smaller segments, so that some of them can leave while others are written."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
_MOST_OF_MACHINE = 24


class SealLimits(NamedTuple):
    after_s: float | None
    """The maximum age of an open segment; None: only its size matters."""
    behind_bytes: int
    """How much may wait in the spool while the archive cannot be written."""


ON_A_FLEET = SealLimits(60.0, 4_000_000_000)
ALONE = SealLimits(None, 0)
"""For one process: nobody waits for its segments, and sealing by age would make thousands of files in a slow crawl."""


@dataclass(slots=True)
class OpenSegment:
    """A segment that grows."""

    job: str
    name: str
    """The name without the job."""
    spool: Spool
    began_at: float
    reported_at: float
    reported_bytes: int = 0
    file_bytes: int = 0
    """Of the files that came with it."""

    @property
    def reference(self) -> str:
        return f"{self.job}/{self.name}"


class Spools:
    def __init__(
        self, archive: Archive, machine: str, sealing: SealLimits, clock: Callable[[], float] = time.time
    ) -> None:
        """Creates nothing on the disk until there is something to write. Do not use it after a fork."""
        self.archive = archive
        self.machine = machine
        # Random at the end, because two machines may have the same name, and a dead process's pid may be used again.
        self.process = f"{_NOT_IN_NAMES.sub('-', machine)[:_MOST_OF_MACHINE]}-{os.getpid()}-{os.urandom(3).hex()}"
        self._sealing = sealing
        self.clock = clock
        self._folder = archive.spools / self.process
        self._lock: int | None = None
        self._open: dict[str, OpenSegment] = {}
        self._begun = 0
        self._behind_bytes = 0
        self._transfer_error: Unavailable | None = None
        self._uploader: Uploader | None = None
        self._segment_bytes = SEGMENT_BYTES
        self._seal_after_s = sealing.after_s
        if archive.stored.is_remote:
            self._uploader = Uploader(archive, self.process)
            self._segment_bytes = min(SEGMENT_BYTES, max(1, archive.spool_bytes // _SEGMENTS_IN_SPOOL))
            self._seal_after_s = sealing.after_s or REMOTE_AFTER_S

    @property
    def transfer_error(self) -> str | None:
        """Why segments wait in the spool instead of being in the archive."""
        error = self._uploader.error if self._uploader is not None else self._transfer_error
        return str(error) if error is not None else None

    @property
    def waiting_bytes(self) -> int:
        """How much waits in the spool for the archive."""
        return self._uploader.waiting_bytes if self._uploader is not None else self._behind_bytes

    @property
    def note(self) -> str | None:
        """What a person should know: segments that wait for the archive."""
        error = self.transfer_error
        return f"segments wait in the spool: {error}" if error else None

    def check(self) -> None:
        """Raises ObjectStoreRefused if waiting would not help. A bucket that is away may come back."""
        try:
            self.archive.stored.check()
        except ObjectStoreRefused:
            raise
        except Unavailable:
            pass

    def adopt(self, store: Store) -> None:
        """Archives what dead processes of this machine left; with a bucket, soon. Raises Unavailable."""
        if self._uploader is not None:
            self._uploader.wake(store)
        else:
            adopt(store, self.archive)

    def segment_for_append(self, store: Store, job: str) -> OpenSegment:
        """Seals the current segment if it is due. Raises Unavailable."""
        segment = self._open.get(job)
        if segment is not None and self._is_due(segment):
            self.seal(store, job)
        if self._uploader is not None:
            self._uploader.check_room(store)
        elif self._transfer_error is not None and self._behind_bytes > self._sealing.behind_bytes:
            self._send(store)
            if self._transfer_error is not None:
                raise self._transfer_error
        segment = self._open.get(job) or self._begin(store, job)
        self._report(store, segment)
        return segment

    def keep_files(self, store: Store, segment: OpenSegment, files: Mapping[str, bytes]) -> None:
        """Makes files durable that records of the segment will refer to, by their paths. Raises Unavailable."""
        note_use(store, segment.job, {path: len(body) for path, body in files.items()})
        spool_files(self._folder, files)
        segment.file_bytes += sum(map(len, files.values()))

    def seal_due(self, store: Store) -> None:
        """Call it every few seconds: seals what is old enough, and sends segments that had to wait."""
        due = [job for job, segment in self._open.items() if self._is_due(segment)]
        for job in due:
            self._seal(store, job)
        if due or self._transfer_error is not None:
            self._send(store)

    def seal(self, store: Store, job: str) -> None:
        """For a job that is unloaded. `transfer_error` tells whether the segment reached the archive."""
        if job in self._open:
            self._seal(store, job)
            self._send(store)

    def seal_all(self, store: Store) -> None:
        """Raises Unavailable if a segment stays in the spool; the process that adopts the spool archives it. Waits a
        moment for a bucket: repeat it."""
        for job in list(self._open):
            self._seal(store, job)
        if self._uploader is not None:
            self._send(store)
            self._uploader.drain(store, DRAIN_S)
        elif self._lock is not None:
            self._send(store)
            if self._transfer_error is not None:
                raise self._transfer_error

    def close(self) -> None:
        """Does not seal; another process adopts what is still here."""
        for segment in self._open.values():
            segment.spool.close()
        self._open.clear()
        if self._uploader is not None:
            self._uploader.close()
        if self._lock is not None:
            with suppress(Unavailable):
                remove_if_empty(self._folder)
            os.close(self._lock)
            self._lock = None

    def _is_due(self, segment: OpenSegment) -> bool:
        if segment.spool.size + segment.file_bytes >= self._segment_bytes:
            return True
        return self._seal_after_s is not None and self.clock() - segment.began_at >= self._seal_after_s

    def _begin(self, store: Store, job: str) -> OpenSegment:
        if self._lock is None:
            self._lock = make_folder(self._folder)
        now = self.clock()
        self._begun += 1
        began = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S%f")[:-3]
        name = f"{began}-{self.process}-{self._begun}"
        segment = OpenSegment(job, name, Spool(self._folder / job / f"{name}{SPOOL}"), now, now)
        try:
            self._save(store, segment)
        except Unavailable:
            # The segment is empty, so sealing removes it.
            segment.spool.seal()
            raise
        self._open[job] = segment
        return segment

    def _report(self, store: Store, segment: OpenSegment) -> None:
        size = segment.spool.size
        is_first = not segment.reported_bytes
        if size != segment.reported_bytes and (is_first or self.clock() - segment.reported_at >= REPORT_EVERY_S):
            self._save(store, segment)
            segment.reported_at, segment.reported_bytes = self.clock(), size

    def _save(self, store: Store, segment: OpenSegment) -> None:
        size, now = segment.spool.size, self.clock()
        save_segment(store, Segment(segment.job, segment.name, self.machine, self.process, OPEN, size, now))

    def _seal(self, store: Store, job: str) -> None:
        segment = self._open.pop(job)
        # If it cannot be sealed or reported now, `_send` seals it, and its row gets the size when it is stored. The row
        # comes first: the uploader may store a sealed segment at once, and its row must not be open again after that.
        with suppress(Unavailable):
            if segment.spool.size != segment.reported_bytes:
                self._save(store, segment)
        with suppress(Unavailable):
            segment.spool.seal()

    def _send(self, store: Store) -> None:
        writing = {segment.reference for segment in self._open.values()}
        try:
            if self._uploader is not None:
                seal_left(self._folder, writing)
                self._uploader.wake(store)
            else:
                send(store, self.archive, self._folder, writing)
            self._transfer_error = None
        except Unavailable as error:
            self._transfer_error = error
        if self._uploader is None:
            self._behind_bytes = bytes_behind(self._folder, writing)
