"""One exchange for the archive, and the reference that finds its body again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from shoal.store.archive.record_draft import Draft


class Resource(NamedTuple):
    """What was made of a page, and not received: its HTML after scripts ran, or a picture of it."""

    kind: str
    """`dom`, `view`, `element` or `pdf`."""
    content_type: str
    body: bytes


@dataclass(slots=True)
class Capture:
    """One request and its response as they went over the wire."""

    url: str
    request: bytes
    """Head and body as they were sent, without secrets."""
    head: bytes
    """The response's head as it was received."""
    raw: bytes
    """The response's body, without the transfer coding."""
    digest: str
    """The digest of `raw`, as `sha256:` and hex."""
    status: int
    content_type: str
    content_encoding: str
    protocol: str
    """`http/1.1` or `h2`."""
    ip: str
    """Empty: unknown, because a proxy was in between."""
    started_at: float
    body_at: str | None = None
    """For a 304: the reference of the record that has the unchanged body."""
    resources: tuple[Resource, ...] = ()
    """If the first is a `dom`, it is what the reference of this capture leads to."""
    calls: tuple[Capture, ...] = ()
    """What scripts of the page asked for."""
    file: str | None = None
    """The path of a file that items refer to: `raw` is its content, and the archive stores it by its digest."""
    draft: Draft | None = None
    """Its records, if they were made in advance; not used if its body turns out to be archived already."""


class Reference(NamedTuple):
    """The position of a record; as text it sorts in the order of the archive."""

    segment: str
    """`job/20261115T131606123-laptop-4711-3fa9c1-1`: job, start time, and the process that writes it."""
    offset: int
    length: int

    def __str__(self) -> str:
        return f"{self.segment}:{self.offset:010}:{self.length}"

    @classmethod
    def parse(cls, text: str) -> Self:
        segment, offset, length = text.split(":")
        return cls(segment, int(offset), int(length))
