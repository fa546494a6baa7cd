"""Records of a capture before they have an offset in a segment, and a cache of recently archived bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from shoal.store.archive import warc
from shoal.store.archive.capture import Capture, Reference
from shoal.store.archive.cdxj_index import REVISIT, CdxjEntry, mime
from shoal.store.archive.gzip_members import compress_member, store_member

MOST_BODIES = 10_000
"""Size of the cache; an entry takes some 600 bytes. A forgotten body costs only the space of a second copy."""

BodyKey = tuple[str, str, str]


class DraftBody(NamedTuple):
    original: warc.Original
    at: Reference
    """The reference of the record that has the body."""
    file: str | None = None
    """The path of the stored file that is the body."""


class Draft(NamedTuple):
    captured: bytes
    requested: bytes
    entry: CdxjEntry
    original: warc.Original
    """What a revisit of this capture refers to."""
    body_at: Reference | None
    """None: the capture has its own body."""

    @property
    def bytes(self) -> int:
        return len(self.captured) + len(self.requested)


class RecentBodies:
    def __init__(self) -> None:
        self._known: dict[BodyKey, DraftBody] = {}

    def __contains__(self, key: BodyKey) -> bool:
        return key in self._known

    def get(self, key: BodyKey) -> DraftBody | None:
        body = self._known.pop(key, None)
        if body is not None:
            self._known[key] = body
        return body

    def add(self, more: Mapping[BodyKey, DraftBody]) -> None:
        self._known |= more
        while len(self._known) > MOST_BODIES:
            del self._known[next(iter(self._known))]


def body_key(capture: Capture) -> BodyKey:
    """The digest, and the headers that decide how to decode a body: the same bytes may be gzip here and text there."""
    return capture.digest, capture.content_type, capture.content_encoding


def draft_response(capture: Capture, ids: Iterator[str]) -> Draft:
    original = _original(capture, ids)
    pack = store_member if capture.content_encoding else compress_member
    captured = pack(warc.response(capture, original.id, original.date))
    listed = CdxjEntry(capture.url, original.date, mime(capture.content_type), capture.status, capture.digest)
    return Draft(captured, _requested(capture, original, ids), listed, original, None)


def draft_file(capture: Capture, ids: Iterator[str], path: str) -> Draft:
    original = _original(capture, ids)
    captured = compress_member(warc.file_revisit(capture, original.id, original.date, path))
    listed = CdxjEntry(capture.url, original.date, REVISIT, capture.status, capture.digest)
    return Draft(captured, _requested(capture, original, ids), listed, original, None)


def draft_revisit(capture: Capture, ids: Iterator[str], profile: str, body: DraftBody) -> Draft:
    original = _original(capture, ids)
    captured = compress_member(warc.revisit(capture, original.id, original.date, profile, body.original, body.file))
    digest = capture.digest if profile == warc.IDENTICAL else None
    listed = CdxjEntry(capture.url, original.date, REVISIT, capture.status, digest)
    # The file of an earlier job is this job's from now on, so its record is, too.
    body_at = None if body.file else body.at
    return Draft(captured, _requested(capture, original, ids), listed, original, body_at)


def _original(capture: Capture, ids: Iterator[str]) -> warc.Original:
    return warc.Original(next(ids), capture.url, warc.warc_date(capture.started_at))


def _requested(capture: Capture, original: warc.Original, ids: Iterator[str]) -> bytes:
    return compress_member(warc.request(capture, next(ids), original.date, original.id))
