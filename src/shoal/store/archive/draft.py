"""The records of a capture before they have a place in a segment, and the memory of bodies archived lately."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from shoal.store.archive import warc
from shoal.store.archive.capture import Capture, Reference
from shoal.store.archive.index import REVISIT, Entry, mime
from shoal.store.archive.member import packed, stored

MOST_BODIES = 10_000
"""Remembered, the latest; each takes some 600 bytes. One that is forgotten costs only the room of its copy."""

BodyKey = tuple[str, str, str]


class Body(NamedTuple):
    original: warc.Original
    at: Reference
    """Of the record that has it."""


class Draft(NamedTuple):
    captured: bytes
    requested: bytes
    entry: Entry
    original: warc.Original
    """What a revisit of this capture would refer to."""
    body_at: Reference | None
    """None: the capture has its own body."""

    @property
    def bytes(self) -> int:
        return len(self.captured) + len(self.requested)


class Bodies:
    def __init__(self) -> None:
        self._known: dict[BodyKey, Body] = {}

    def __contains__(self, key: BodyKey) -> bool:
        return key in self._known

    def get(self, key: BodyKey) -> Body | None:
        body = self._known.pop(key, None)
        if body is not None:
            self._known[key] = body
        return body

    def add(self, more: Mapping[BodyKey, Body]) -> None:
        self._known |= more
        while len(self._known) > MOST_BODIES:
            del self._known[next(iter(self._known))]


def body_key(capture: Capture) -> BodyKey:
    """The digest, and what else decides how a body is read: the same bytes may be gzip here and a text there."""
    return capture.digest, capture.content_type, capture.content_encoding


def draft_response(capture: Capture, ids: Iterator[str]) -> Draft:
    original = _original(capture, ids)
    pack = stored if capture.content_encoding else packed
    captured = pack(warc.response(capture, original.id, original.date))
    listed = Entry(capture.url, original.date, mime(capture.content_type), capture.status, capture.digest)
    return Draft(captured, _requested(capture, original, ids), listed, original, None)


def draft_revisit(capture: Capture, ids: Iterator[str], profile: str, body: Body) -> Draft:
    original = _original(capture, ids)
    captured = packed(warc.revisit(capture, original.id, original.date, profile, body.original))
    digest = capture.digest if profile == warc.IDENTICAL else None
    listed = Entry(capture.url, original.date, REVISIT, capture.status, digest)
    return Draft(captured, _requested(capture, original, ids), listed, original, body.at)


def _original(capture: Capture, ids: Iterator[str]) -> warc.Original:
    return warc.Original(next(ids), capture.url, warc.warc_date(capture.started_at))


def _requested(capture: Capture, original: warc.Original, ids: Iterator[str]) -> bytes:
    return packed(warc.request(capture, next(ids), original.date, original.id))
