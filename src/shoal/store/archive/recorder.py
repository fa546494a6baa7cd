"""Writes a job's captures to its archive and returns references, with one write and one fsync per group.

If the job has archived a body recently, a revisit record replaces it, and the reference points to the record with the
body. Callers must not call from two threads at once, except for `draft`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from shoal.errors import ObjectStoreAway, ObjectStoreRefused, Unavailable
from shoal.store.archive import warc
from shoal.store.archive.capture import Capture, Reference
from shoal.store.archive.cdxj_index import CdxjEntry
from shoal.store.archive.gzip_members import compress_member
from shoal.store.archive.record_draft import (
    BodyKey,
    Draft,
    DraftBody,
    RecentBodies,
    body_key,
    draft_file,
    draft_response,
    draft_revisit,
)
from shoal.store.archive.segment_table import archived_bytes
from shoal.store.archive.spools import REPORT_EVERY_S, OpenSegment, Spools
from shoal.store.archive.stored_files import note_use
from shoal.store.store import Store

NOT_MODIFIED = 304
DOM = "dom"
_MOST_FILES = 100_000
"""A forgotten file is spooled once more, and dropped because the archive has it."""


class RecordedGroup(NamedTuple):
    references: list[Reference | None]
    """References of the records that have the bodies; None: no record has it."""
    left_out: int
    """Captures for which the archive had no room."""


class Recorder:
    def __init__(self, spools: Spools, job: str, about: Mapping[str, str], max_bytes: int | None = None) -> None:
        """`about` goes into each segment's warcinfo record."""
        self._spools = spools
        self._job = job
        self._about = about
        self._max_bytes = max_bytes
        self._other_bytes = 0
        """Bytes of all the job's segments except the open one, including those of other processes."""
        self._looked_at = 0.0
        self._looked_for = ""
        self._full = False
        self._bodies = RecentBodies()
        self._files: dict[str, None] = {}
        """The paths of files that this job has, the last of them."""

    def draft(self, capture: Capture) -> None:
        """Makes the capture's records before `append`; callable from any thread."""
        if capture.file is not None or capture.status == NOT_MODIFIED or self._full:
            return
        if body_key(capture) not in self._bodies:
            capture.draft = draft_response(capture, warc.record_ids(2))

    def append(self, store: Store, captures: Sequence[Capture]) -> RecordedGroup:
        """If it raises Unavailable, nothing was appended."""
        segment = self._spools.segment_for_append(store, self._job)
        self._refresh_usage(store, segment)
        ids = warc.record_ids(1 + sum(map(_records, captures)))
        group = _Group(segment)
        # In the order of the archive, which reads ahead.
        unchanged = {capture.body_at for capture in captures if capture.status == NOT_MODIFIED and capture.body_at}
        group.earlier = self._earlier(store, sorted(unchanged))
        spool = segment.spool
        if not spool.size:
            info = warc.warcinfo(next(ids), warc.warc_date(time.time()), spool.filename, self._about)
            group.add(compress_member(info))
        references = [self._add(group, capture, ids) for capture in captures]
        if group.left_out < len(captures):
            if group.files:
                self._spools.keep_files(store, segment, group.files)
                self._note_files(group.files)
            spool.append(b"".join(group.members), group.lines)
            self._bodies.add(group.bodies)
        return RecordedGroup(references, group.left_out)

    def seal(self, store: Store) -> None:
        """The next append starts another segment."""
        self._spools.seal(store, self._job)

    def _refresh_usage(self, store: Store, segment: OpenSegment) -> None:
        """Reads how much of the limit is used; other processes report their share as often as this one reads it."""
        now = self._spools.clock()
        is_old = segment.name != self._looked_for or now - self._looked_at >= REPORT_EVERY_S
        if self._max_bytes is not None and is_old:
            self._other_bytes = archived_bytes(store, self._job, but=segment.name)
            self._looked_at, self._looked_for = now, segment.name

    def _add(self, group: _Group, capture: Capture, ids: Iterator[str]) -> Reference | None:
        draft = None if self._full else self._draft(group, capture, ids)
        file_bytes = group.file_bytes + (len(capture.raw) if self._is_new_file(group, capture) else 0)
        made = _resources(capture, draft, ids) if draft is not None else []
        if draft is None or self._exceeds(group.end + draft.bytes + sum(map(len, made)) + file_bytes):
            self._full = True
            group.left_out += 1
            return Reference.parse(capture.body_at) if capture.body_at else None
        at = group.add(draft.captured, draft.entry)
        group.add(draft.requested)
        if self._is_new_file(group, capture):
            group.files[capture.file or ""] = capture.raw
        places = [group.add(member) for member in made]
        for call in capture.calls:
            self._add(group, call, ids)
        if places and capture.resources[0].kind == DOM:
            return places[0]
        if draft.body_at is not None:
            return draft.body_at
        if capture.file is not None or group.has_file_of(capture):
            return at
        group.bodies[body_key(capture)] = DraftBody(draft.original, at)
        # A 304 without an earlier body of ours is archived, but it has no body to refer to.
        return at if capture.status != NOT_MODIFIED else None

    def _exceeds(self, segment_bytes: int) -> bool:
        return self._max_bytes is not None and self._other_bytes + segment_bytes > self._max_bytes

    def _draft(self, group: _Group, capture: Capture, ids: Iterator[str]) -> Draft:
        if capture.status == NOT_MODIFIED:
            earlier = group.earlier.get(capture.body_at or "")
            return draft_revisit(capture, ids, warc.NOT_MODIFIED, earlier) if earlier else draft_response(capture, ids)
        if capture.file is not None:
            return draft_file(capture, ids, capture.file)
        key = body_key(capture)
        same = (self._bodies.get(key) or group.bodies.get(key)) if capture.raw else None
        if same is not None:
            return draft_revisit(capture, ids, warc.IDENTICAL, same)
        return capture.draft or draft_response(capture, ids)

    def _is_new_file(self, group: _Group, capture: Capture) -> bool:
        return capture.file is not None and capture.file not in self._files and capture.file not in group.files

    def _note_files(self, files: Mapping[str, bytes]) -> None:
        self._files |= dict.fromkeys(files)
        while len(self._files) > _MOST_FILES:
            del self._files[next(iter(self._files))]
        # Like other segments, until the store is asked again: it counts all files of the job.
        self._other_bytes += sum(map(len, files.values()))

    def _earlier(self, store: Store, unchanged: Sequence[str]) -> dict[str, DraftBody | None]:
        found = {body_at: self._earlier_body(body_at) for body_at in unchanged}
        files = {body.file for body in found.values() if body is not None and body.file is not None}
        if not files:
            return found
        archive = self._spools.archive
        # Noted first: from then on no removal of an earlier job takes them away.
        note_use(store, self._job, dict.fromkeys(files, 0))
        sizes = {path: archive.file_bytes(path) for path in sorted(files)}
        note_use(store, self._job, {path: size or 0 for path, size in sizes.items()})
        gone = {path for path, size in sizes.items() if size is None}
        return {body_at: None if body is None or body.file in gone else body for body_at, body in found.items()}

    def _earlier_body(self, body_at: str) -> DraftBody | None:
        at = Reference.parse(body_at)
        try:
            fields = self._spools.archive.record_alone(at).fields
        except (ObjectStoreAway, ObjectStoreRefused):
            # The body is there, and the reference to it must not be lost.
            raise
        except Unavailable:
            # Somebody may have removed the archive of the earlier job.
            return None
        original = warc.Original(fields["warc-record-id"], fields["warc-target-uri"], fields["warc-date"])
        return DraftBody(original, at, fields.get(warc.FILE))


def _records(capture: Capture) -> int:
    return 2 + len(capture.resources) + sum(map(_records, capture.calls))


def _resources(capture: Capture, draft: Draft, ids: Iterator[str]) -> list[bytes]:
    of = draft.original
    return [compress_member(warc.resource(made, capture, next(ids), of.date, of.id)) for made in capture.resources]


class _Group:
    """The records that one append writes."""

    def __init__(self, segment: OpenSegment) -> None:
        self._segment = segment
        self.members: list[bytes] = []
        self.lines: list[bytes] = []
        self.end = segment.spool.size
        """The end of the segment, including this group."""
        self.bodies: dict[BodyKey, DraftBody] = {}
        self.earlier: dict[str, DraftBody | None] = {}
        """Bodies of earlier jobs, by reference; None: it no longer exists."""
        self.files: dict[str, bytes] = {}
        """New files, by their paths."""
        self.left_out = 0

    @property
    def file_bytes(self) -> int:
        return sum(map(len, self.files.values()))

    def has_file_of(self, capture: Capture) -> bool:
        """Whether the unchanged body of a 304 is a stored file."""
        body = self.earlier.get(capture.body_at or "")
        return capture.status == NOT_MODIFIED and body is not None and body.file is not None

    def add(self, member: bytes, entry: CdxjEntry | None = None) -> Reference:
        at = Reference(self._segment.reference, self.end, len(member))
        self.members.append(member)
        self.end += len(member)
        if entry is not None:
            self.lines.append(entry.line(self._segment.spool.filename, at.offset, at.length))
        return at
