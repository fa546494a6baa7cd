"""The segments that one process writes, a spool per job, and when they leave for the archive.

A segment is known to the store before anything is appended to it. If the archive cannot be written, sealed segments
wait in the spool up to a bound; beyond it nothing more is taken until it can. All calls come from one thread at a time.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from shoal.errors import Unavailable
from shoal.store.archive.archive import Archive
from shoal.store.archive.segments import OPEN, Segment, save_segment
from shoal.store.archive.sending import bytes_behind, make_folder, send
from shoal.store.archive.spool import SEALED, SPOOL, Spool
from shoal.store.store import Store

SEGMENT_BYTES = 64_000_000
TELL_EVERY_S = 10.0
"""How old the store's knowledge of an open segment's size may be."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
_MOST_OF_MACHINE = 24


class Sealing(NamedTuple):
    after_s: float | None
    """How old a segment gets; None: as old as may be, up to its size."""
    behind_bytes: int
    """How much may wait in the spool for an archive that cannot be written."""


ON_A_FLEET = Sealing(60.0, 4_000_000_000)
ALONE = Sealing(None, 0)
"""For one process: others do not wait for its segments, and by age a slow crawl would leave thousands of small ones."""


@dataclass(slots=True)
class OpenSegment:
    job: str
    name: str
    """Without the job."""
    spool: Spool
    began_at: float
    told_at: float
    told_bytes: int = 0

    @property
    def reference(self) -> str:
        return f"{self.job}/{self.name}"


class Spools:
    def __init__(
        self, archive: Archive, machine: str, sealing: Sealing, clock: Callable[[], float] = time.time
    ) -> None:
        """Makes nothing on the disk until there is something to write. Not to be carried over a fork."""
        self.archive = archive
        self.machine = machine
        # The last part, because a machine may have the name of another, and a process the number of one that died.
        self.process = f"{_NOT_IN_NAMES.sub('-', machine)[:_MOST_OF_MACHINE]}-{os.getpid()}-{os.urandom(3).hex()}"
        self._sealing = sealing
        self.clock = clock
        self._folder = archive.spools / self.process
        self._lock: int | None = None
        self._open: dict[str, OpenSegment] = {}
        self._begun = 0
        self._behind_bytes = 0
        self._trouble: Unavailable | None = None

    @property
    def trouble(self) -> str | None:
        """Why segments wait in the spool instead of being in the archive."""
        return str(self._trouble) if self._trouble is not None else None

    def room(self, store: Store, job: str) -> OpenSegment:
        """The segment for the next append. Raises Unavailable."""
        segment = self._open.get(job)
        if segment is not None and self._is_due(segment):
            self.seal(store, job)
        if self._trouble is not None and self._behind_bytes > self._sealing.behind_bytes:
            self._send(store)
            if self._trouble is not None:
                raise self._trouble
        segment = self._open.get(job) or self._begin(store, job)
        self._tell(store, segment)
        return segment

    def tend(self, store: Store) -> None:
        """To be called every few seconds: seals what is old enough, and sends what had to wait."""
        due = [job for job, segment in self._open.items() if self._is_due(segment)]
        for job in due:
            self._seal(job)
        if due or self._trouble is not None:
            self._send(store)

    def seal(self, store: Store, job: str) -> None:
        """Of a job that is put away; whether it could be sent to the archive is seen by `trouble`."""
        if job in self._open:
            self._seal(job)
            self._send(store)

    def seal_all(self, store: Store) -> None:
        """Raises Unavailable if something stays in the spool; whoever adopts it brings it to the archive."""
        for job in list(self._open):
            self._seal(job)
        if self._lock is not None:
            self._send(store)
            if self._trouble is not None:
                raise self._trouble

    def close(self) -> None:
        """Without sealing: what is still here is for whoever adopts it."""
        for segment in self._open.values():
            segment.spool.close()
        self._open.clear()
        if self._lock is not None:
            if not any(self._folder.glob(f"*/*{SEALED}*")):
                shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = None

    def _is_due(self, segment: OpenSegment) -> bool:
        if segment.spool.size >= SEGMENT_BYTES:
            return True
        return self._sealing.after_s is not None and self.clock() - segment.began_at >= self._sealing.after_s

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
            # Empty, so that sealing removes it.
            segment.spool.seal()
            raise
        self._open[job] = segment
        return segment

    def _tell(self, store: Store, segment: OpenSegment) -> None:
        size = segment.spool.size
        is_first = not segment.told_bytes
        if size != segment.told_bytes and (is_first or self.clock() - segment.told_at >= TELL_EVERY_S):
            self._save(store, segment)
            segment.told_at, segment.told_bytes = self.clock(), size

    def _save(self, store: Store, segment: OpenSegment) -> None:
        size, now = segment.spool.size, self.clock()
        save_segment(store, Segment(segment.job, segment.name, self.machine, self.process, OPEN, size, now))

    def _seal(self, job: str) -> None:
        # What cannot be sealed now is when it is sent.
        with suppress(Unavailable):
            self._open.pop(job).spool.seal()

    def _send(self, store: Store) -> None:
        writing = {segment.reference for segment in self._open.values()}
        try:
            send(store, self.archive, self._folder, writing)
            self._trouble = None
        except Unavailable as trouble:
            self._trouble = trouble
        self._behind_bytes = bytes_behind(self._folder, writing)
