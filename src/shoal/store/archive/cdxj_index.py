"""CDXJ: the index of a segment, with which replay tools find a capture. One line per capture, sorted on sealing."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from shoal.store.archive import warc

_URL = re.compile(r"https?://(?:www\d*\.)?\[?([^/\]]+?)\]?(:\d+)?/([^?]*)(?:\?|(\?.+))?")
_STATUS = re.compile(r"\s(\d{3})\b")
_NO_DIGIT = re.compile(r"\D")
_INDEXED = ("response", "revisit")
REVISIT = "warc/revisit"
"""The mime type of a capture whose body is in another record."""


class CdxjEntry(NamedTuple):
    url: str
    date: str
    mime: str
    status: int
    digest: str | None

    def line(self, filename: str, offset: int, length: int) -> bytes:
        about = {
            "url": self.url,
            "mime": self.mime,
            "status": str(self.status),
            **({"digest": self.digest} if self.digest else {}),
            "length": str(length),
            "offset": str(offset),
            "filename": filename,
        }
        timestamp = _NO_DIGIT.sub("", self.date)[:14]
        return f"{surt(self.url)} {timestamp} {json.dumps(about)}\n".encode()


def entry_of(record: warc.Record) -> CdxjEntry | None:
    """None for a record that the index does not list."""
    fields = record.fields
    if fields.get("warc-type") not in _INDEXED:
        return None
    first, *lines = record.http[0].decode("latin-1").split("\r\n")
    status = _STATUS.search(first)
    types = (value for name, _, value in (line.partition(":") for line in lines) if name.lower() == "content-type")
    return CdxjEntry(
        fields["warc-target-uri"],
        fields["warc-date"],
        REVISIT if fields["warc-type"] == "revisit" else mime(next(types, "")),
        int(status[1]) if status else 0,
        fields.get("warc-payload-digest"),
    )


def mime(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower() or "unk"


def record_span(line: bytes) -> tuple[int, int] | None:
    """The start and end of the record that an index line describes; None if Shoal did not write this line."""
    try:
        about = json.loads(line.split(b" ", 2)[2])
        return int(about["offset"]), int(about["offset"]) + int(about["length"])
    except (ValueError, LookupError, TypeError):
        return None


def surt(url: str) -> str:
    """The key of a canonical URL, as other indexers write it: the host is reversed, so that a site's captures
    sort together."""
    found = _URL.fullmatch(url.lower())
    assert found is not None
    host, port, path, query = found.groups("")
    return f"{','.join(reversed(host.split('.')))}{port})/{path.rstrip('/')}{query}"
