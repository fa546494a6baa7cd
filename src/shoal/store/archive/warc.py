"""Makes WARC/1.1 records from captures, and reads them.

A response is archived as received, except for what only made sense on the wire: its transfer coding is removed, and
the head of an HTTP/2 response is written as HTTP/1.1, as other crawlers do. A head too long for some readers is cut.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from shoal.store.archive.capture import Capture, Resource
from shoal.store.archive.head_limits import MOST_BYTES, MOVED, shorten_head

IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
CONCURRENT = "warc-concurrent-to"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
FILE = "x-crawler-file"
"""The field of a record whose body is a file that the archive stores by its digest: the path of that file."""
_BREAK = re.compile(rb"\r*\n")
_END = "\r\n"
_ID_BYTES = 16
_OF_RESPONSE = (
    *("WARC-Record-ID", "WARC-Date", "WARC-Target-URI", "WARC-IP-Address", "WARC-Protocol"),
    *("WARC-Payload-Digest", "Content-Type"),
)


class Original(NamedTuple):
    """The record that a revisit refers to."""

    id: str
    url: str
    date: str


class Record(NamedTuple):
    fields: dict[str, str]
    """The WARC header, names in lower case."""
    block: bytes

    @property
    def http(self) -> tuple[bytes, bytes]:
        """Head and body of the message in the block. What was made of a page has no head but its type."""
        if self.fields.get("warc-type") == "resource":
            return f"HTTP/1.1 200 OK\r\nContent-Type: {self.fields['content-type']}\r\n\r\n".encode(), self.block
        head, blank, body = self.block.partition(b"\r\n\r\n")
        return head + blank, body

    def as_resource(self) -> Resource:
        kind = self.fields["warc-target-uri"].removeprefix("urn:").partition(":")[0]
        return Resource(kind, self.fields["content-type"], self.block)


def response(capture: Capture, id: str, date: str) -> bytes:
    head = http_head(capture.head, len(capture.raw))
    block = hashlib.sha256(head)
    block.update(capture.raw)
    fields = (
        f"{_opening('response', id, date, capture)}"
        f"WARC-Payload-Digest: {capture.digest}\r\nWARC-Block-Digest: sha256:{block.hexdigest()}\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
    )
    return _record(fields, head, capture.raw)


def revisit(capture: Capture, id: str, date: str, profile: str, original: Original, file: str | None = None) -> bytes:
    head = http_head(capture.head, len(capture.raw))
    payload = f"WARC-Payload-Digest: {capture.digest}\r\n" if profile == IDENTICAL else ""
    fields = (
        f"{_opening('revisit', id, date, capture)}WARC-Profile: {profile}\r\nWARC-Refers-To: {original.id}\r\n"
        f"WARC-Refers-To-Target-URI: {original.url}\r\nWARC-Refers-To-Date: {original.date}\r\n"
        f"{f'X-Crawler-File: {file}{_END}' if file else ''}{payload}WARC-Block-Digest: {digest(head)}\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
    )
    return _record(fields, head)


def file_revisit(capture: Capture, id: str, date: str, path: str) -> bytes:
    """The exchange that brought a file. The file itself is stored beside the segments."""
    head = http_head(capture.head, len(capture.raw), is_decoded=True)
    fields = (
        f"{_opening('revisit', id, date, capture)}WARC-Profile: {IDENTICAL}\r\nX-Crawler-File: {path}\r\n"
        f"WARC-Payload-Digest: {capture.digest}\r\nWARC-Block-Digest: {digest(head)}\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
    )
    return _record(fields, head)


def response_with_file(record: Record, body: bytes) -> bytes:
    """The record that an exchange with a file would have if its body were in it."""
    kept = ((name, record.fields[name.lower()]) for name in _OF_RESPONSE if name.lower() in record.fields)
    fields = "".join(f"{name}: {value}\r\n" for name, value in (("WARC-Type", "response"), *kept))
    return _record(f"{fields}WARC-Block-Digest: {digest(record.block + body)}\r\n", record.block, body)


def request(capture: Capture, id: str, date: str, answered_by: str) -> bytes:
    message = capture.request if len(capture.request) <= MOST_BYTES else _short_request(capture.request)
    fields = (
        f"{_opening('request', id, date, capture)}WARC-Concurrent-To: {answered_by}\r\n"
        f"WARC-Block-Digest: {digest(message)}\r\nContent-Type: application/http; msgtype=request\r\n"
    )
    return _record(fields, message)


def resource(made: Resource, capture: Capture, id: str, date: str, made_of: str) -> bytes:
    """The names are those of other crawlers that use a browser: `urn:view:https://…` is a picture of the page."""
    fields = (
        f"WARC-Type: resource\r\nWARC-Record-ID: {id}\r\nWARC-Date: {date}\r\n"
        f"WARC-Target-URI: urn:{made.kind}:{capture.url}\r\nWARC-Concurrent-To: {made_of}\r\n"
        f"WARC-Block-Digest: {digest(made.body)}\r\nWARC-Payload-Digest: {digest(made.body)}\r\n"
        f"Content-Type: {made.content_type}\r\n"
    )
    return _record(fields, made.body)


def _short_request(message: bytes) -> bytes:
    head, blank, body = message.partition(b"\r\n\r\n")
    return message if len(head) <= MOST_BYTES else shorten_head(head + blank) + body


def warcinfo(id: str, date: str, filename: str, about: Mapping[str, str]) -> bytes:
    block = "".join(f"{name}: {value}\r\n" for name, value in about.items()).encode()
    fields = (
        f"WARC-Type: warcinfo\r\nWARC-Record-ID: {id}\r\nWARC-Date: {date}\r\nWARC-Filename: {filename}\r\n"
        f"WARC-Block-Digest: {digest(block)}\r\nContent-Type: application/warc-fields\r\n"
    )
    return _record(fields, block)


def _opening(kind: str, id: str, date: str, capture: Capture) -> str:
    ip = f"WARC-IP-Address: {capture.ip}\r\n" if capture.ip else ""
    return (
        f"WARC-Type: {kind}\r\nWARC-Record-ID: {id}\r\nWARC-Date: {date}\r\nWARC-Target-URI: {capture.url}\r\n"
        f"{ip}WARC-Protocol: {capture.protocol}\r\n"
    )


def _record(fields: str, *block: bytes) -> bytes:
    length = sum(map(len, block))
    header = f"WARC/1.1\r\n{fields}Content-Length: {length}\r\n\r\n".encode()
    return b"".join((header, *block, b"\r\n\r\n"))


def http_head(head: bytes, body_bytes: int, is_decoded: bool = False) -> bytes:
    """Makes the head fit the archived body: renames the fields that do not fit it. `is_decoded`: the body has no
    content coding any more."""
    # Removes what a reader could mistake for the blank line after the head; all other lines stay as they are.
    status, *fields = filter(None, _BREAK.split(head))
    moved = fits = False
    for place, field in enumerate(fields):
        name, _, value = field.partition(b":")
        match name.strip().lower():
            case b"content-length" if value.strip() == b"%d" % body_bytes:
                fits = True
            case b"content-length" | b"transfer-encoding":
                fields[place] = MOVED + field.lstrip()
                moved = True
            case b"content-encoding" if is_decoded:
                fields[place] = MOVED + field.lstrip()
                moved = True
    if moved and not fits:
        fields.append(b"Content-Length: %d" % body_bytes)
    version, space, rest = status.partition(b" ")
    if not version.startswith(b"HTTP/1."):
        version = b"HTTP/1.1"
    made = b"\r\n".join((version + space + rest, *fields, b"", b""))
    return made if len(made) <= MOST_BYTES else shorten_head(made)


def read(record: bytes) -> Record | None:
    """None if Shoal did not write this record."""
    header, blank, rest = record.partition(b"\r\n\r\n")
    version, *lines = header.decode("utf-8", "replace").split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    length = fields.get("content-length", "")
    if version != "WARC/1.1" or not blank or not length.isdecimal() or len(rest) != int(length) + 4:
        return None
    return Record(fields, rest[:-4])


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def warc_date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def record_ids(n: int) -> Iterator[str]:
    """Random UUIDs, with one system call for all of them."""
    digits = os.urandom(_ID_BYTES * n).hex()
    for start in range(0, len(digits), 2 * _ID_BYTES):
        d = digits[start : start + 2 * _ID_BYTES]
        yield f"<urn:uuid:{d[:8]}-{d[8:12]}-4{d[13:16]}-a{d[17:20]}-{d[20:]}>"
