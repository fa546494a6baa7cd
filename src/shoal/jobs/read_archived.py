"""Reads a response from the archive and decodes its body.

It knows no database, because each process of an extraction imports it: SQLAlchemy would be half of its start.
"""

from __future__ import annotations

from shoal.engine.active_job import SITEMAP_BYTES
from shoal.fetch.content_decoding import decode
from shoal.fetch.decode_body import DECODED_RATIO
from shoal.fetch.exchange import Headers, parse_head
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Reference

MAX_BYTES = SITEMAP_BYTES * DECODED_RATIO
"""No archived body is larger than this."""


def read_archived(archive: Archive, reference: str) -> tuple[Headers, bytes]:
    """The headers of an archived response and its decoded body."""
    head, raw = archive.record(Reference.parse(reference)).http
    _, headers = parse_head(head)
    return headers, decode(raw, ",".join(headers.get_all("content-encoding")), MAX_BYTES).body
