"""Reads archives with other tools, and makes captures with default values."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator as PlainIterator

from shoal.store.archive.capture import Capture

with warnings.catch_warnings():
    # It warns about its own deprecated names.
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.warc import ArchiveIterator as FastIterator

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


@dataclass(frozen=True)
class Seen:
    """A record as another reader returns it."""

    type: str
    url: str | None
    id: str
    fields: dict[str, str]
    status: str | None
    http: dict[str, str]
    body: bytes


def capture(n: int = 1, body: bytes | None = None, head: bytes = OK, **more: Any) -> Capture:
    raw = f"<p>page {n}</p>".encode() if body is None else body
    values: dict[str, Any] = {
        "url": f"https://site.test/{n}",
        "request": f"GET /{n} HTTP/1.1\r\nHost: site.test\r\n\r\n".encode(),
        "head": head,
        "raw": raw,
        "digest": f"sha256:{hashlib.sha256(raw).hexdigest()}",
        "status": 200,
        "content_type": "text/html",
        "content_encoding": "",
        "protocol": "http/1.1",
        "ip": "192.0.2.1",
        "started_at": 1_700_000_000.25 + n,
    }
    return Capture(**{**values, **more})


def read(data: bytes) -> list[Seen]:
    """The records that both readers find. Both check every digest; fails if they disagree."""
    plain, fast = _by_warcio(data), _by_fastwarc(data)
    assert [(one.id, one.body) for one in plain] == fast
    return plain


def read_folder(folder: Path) -> list[Seen]:
    """All segments; each must be readable by itself."""
    return [record for file in sorted(folder.glob("*.warc.gz*")) for record in read(file.read_bytes())]


def of_type(records: list[Seen], *types: str) -> list[Seen]:
    return [record for record in records if record.type in types]


def _by_warcio(data: bytes) -> list[Seen]:
    found = []
    for record in PlainIterator(BytesIO(data), check_digests="raise", no_record_parse=False):
        http = record.http_headers
        body = record.raw_stream.read()
        found.append(
            Seen(
                type=record.rec_type,
                url=record.rec_headers.get_header("WARC-Target-URI"),
                id=record.rec_headers.get_header("WARC-Record-ID"),
                fields=dict(record.rec_headers.headers),
                status=http.get_statuscode() if http and record.rec_type != "request" else None,
                http=dict(http.headers) if http else {},
                body=body,
            )
        )
    return found


def _by_fastwarc(data: bytes) -> list[tuple[str | None, bytes]]:
    blocks = [record.verify_block_digest() for record in FastIterator(BytesIO(data), parse_http=False)]
    assert all(blocks)
    found = []
    for record in FastIterator(BytesIO(data), parse_http=True):
        if record.headers.get("WARC-Payload-Digest") and record.headers["WARC-Type"] != "revisit":
            assert record.verify_payload_digest()
        found.append((record.record_id, record.reader.read()))
    return found
