"""One exchange on its way into the archive, and the reference by which its body is found again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from shoal.store.archive.draft import Draft


@dataclass(slots=True)
class Capture:
    url: str
    request: bytes
    """Head and body as they went out, without what may be a secret."""
    head: bytes
    """The response's head as it came."""
    raw: bytes
    """Its body, without the transfer coding."""
    digest: str
    """Of `raw`, as `sha256:` and hex."""
    status: int
    content_type: str
    content_encoding: str
    protocol: str
    """`http/1.1` or `h2`."""
    ip: str
    """Empty: not known, because a proxy was between."""
    started_at: float
    body_at: str | None = None
    """For a 304: the reference of the record with the body it stands for."""
    draft: Draft | None = None
    """Its records, if they were made ahead; they are not used if its body turns out to be archived already."""


class Reference(NamedTuple):
    """Where a record is; as text it sorts in the order of the archive."""

    segment: str
    """`job/20261115T131606123-laptop-4711-3fa9c1-1`: begun when and by which process."""
    offset: int
    length: int

    def __str__(self) -> str:
        return f"{self.segment}:{self.offset:010}:{self.length}"

    @classmethod
    def parse(cls, text: str) -> Self:
        segment, offset, length = text.split(":")
        return cls(segment, int(offset), int(length))
