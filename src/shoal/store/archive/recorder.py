"""A job's way into its archive: captures in, references out, with one write and one fsync for a group of them.

A body that the job has archived lately is not archived again: a revisit record stands for it, and the reference given
is that of the record with the body. Calls come from one thread at a time, but for `draft`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from shoal.errors import Unavailable
from shoal.store.archive import warc
from shoal.store.archive.capture import Capture, Reference
from shoal.store.archive.draft import Bodies, Body, BodyKey, Draft, body_key, draft_response, draft_revisit
from shoal.store.archive.index import Entry
from shoal.store.archive.member import packed
from shoal.store.archive.segments import archived_bytes
from shoal.store.archive.spools import TELL_EVERY_S, OpenSegment, Spools
from shoal.store.store import Store

NOT_MODIFIED = 304


class Appended(NamedTuple):
    references: list[Reference | None]
    """Of the records that have the bodies; None: there is none."""
    left_out: int
    """Captures for which there was no room."""


class Recorder:
    def __init__(self, spools: Spools, job: str, about: Mapping[str, str], max_bytes: int | None = None) -> None:
        """`about` is what each segment says of itself."""
        self._spools = spools
        self._job = job
        self._about = about
        self._max_bytes = max_bytes
        self._other_bytes = 0
        """Of all the job's segments but the open one, those of other processes among them."""
        self._looked_at = 0.0
        self._looked_for = ""
        self._full = False
        self._bodies = Bodies()

    def draft(self, capture: Capture) -> None:
        """Makes the capture's records ahead of `append`; from whatever thread."""
        if capture.status != NOT_MODIFIED and not self._full and body_key(capture) not in self._bodies:
            capture.draft = draft_response(capture, warc.record_ids(2))

    def append(self, store: Store, captures: Sequence[Capture]) -> Appended:
        """Raises Unavailable, and then nothing was appended."""
        segment = self._spools.room(store, self._job)
        self._look(store, segment)
        ids = warc.record_ids(2 * len(captures) + 1)
        group = _Group(segment)
        spool = segment.spool
        if not spool.size:
            group.add(packed(warc.warcinfo(next(ids), warc.warc_date(time.time()), spool.filename, self._about)))
        references = [self._add(group, capture, ids) for capture in captures]
        if group.left_out < len(captures):
            spool.append(b"".join(group.members), group.lines)
            self._bodies.add(group.bodies)
        return Appended(references, group.left_out)

    def seal(self, store: Store) -> None:
        """The next append begins another segment."""
        self._spools.seal(store, self._job)

    def _look(self, store: Store, segment: OpenSegment) -> None:
        """How much of the limit is used; others tell of it as often as we do."""
        now = self._spools.clock()
        is_old = segment.name != self._looked_for or now - self._looked_at >= TELL_EVERY_S
        if self._max_bytes is not None and is_old:
            self._other_bytes = archived_bytes(store, self._job, but=segment.name)
            self._looked_at, self._looked_for = now, segment.name

    def _add(self, group: _Group, capture: Capture, ids: Iterator[str]) -> Reference | None:
        draft = None if self._full else self._draft(group, capture, ids)
        if draft is None or self._exceeds(group.end + draft.bytes):
            self._full = True
            group.left_out += 1
            return Reference.parse(capture.body_at) if capture.body_at else None
        at = group.add(draft.captured, draft.entry)
        group.add(draft.requested)
        if draft.body_at is not None:
            return draft.body_at
        group.bodies[body_key(capture)] = Body(draft.original, at)
        # A 304 that stands for nothing we have is kept, but is no body.
        return at if capture.status != NOT_MODIFIED else None

    def _exceeds(self, segment_bytes: int) -> bool:
        return self._max_bytes is not None and self._other_bytes + segment_bytes > self._max_bytes

    def _draft(self, group: _Group, capture: Capture, ids: Iterator[str]) -> Draft:
        if capture.status == NOT_MODIFIED:
            earlier = self._earlier(capture.body_at)
            return draft_revisit(capture, ids, warc.NOT_MODIFIED, earlier) if earlier else draft_response(capture, ids)
        key = body_key(capture)
        same = (self._bodies.get(key) or group.bodies.get(key)) if capture.raw else None
        if same is not None:
            return draft_revisit(capture, ids, warc.IDENTICAL, same)
        return capture.draft or draft_response(capture, ids)

    def _earlier(self, body_at: str | None) -> Body | None:
        if body_at is None:
            return None
        at = Reference.parse(body_at)
        try:
            fields = self._spools.archive.record(at).fields
        except Unavailable:
            # The archive of an earlier job may have been taken away since.
            return None
        return Body(warc.Original(fields["warc-record-id"], fields["warc-target-uri"], fields["warc-date"]), at)


class _Group:
    """What one append writes."""

    def __init__(self, segment: OpenSegment) -> None:
        self._segment = segment
        self.members: list[bytes] = []
        self.lines: list[bytes] = []
        self.end = segment.spool.size
        """Of the segment, with this group."""
        self.bodies: dict[BodyKey, Body] = {}
        self.left_out = 0

    def add(self, member: bytes, entry: Entry | None = None) -> Reference:
        at = Reference(self._segment.reference, self.end, len(member))
        self.members.append(member)
        self.end += len(member)
        if entry is not None:
            self.lines.append(entry.line(self._segment.spool.filename, at.offset, at.length))
        return at
