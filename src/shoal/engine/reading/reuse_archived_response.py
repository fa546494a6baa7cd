"""Reuses archived responses of earlier jobs, for callbacks of a job that refreshes: a host that answers 304 sends no
body."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from shoal.errors import Unavailable
from shoal.fetch.content_decoding import CannotDecode, DecodedTooLarge, decode
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.decode_body import most_unpacked_bytes
from shoal.fetch.exchange import Exchange, parse_head
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Reference
from shoal.store.archive.warc import digest

if TYPE_CHECKING:
    from shoal.store.crawl.earlier_pages import EarlierPage


class ArchivedResponses:
    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._found: set[str] = set()
        """Segments that this machine can read."""

    async def look_for(self, pages: Iterable[EarlierPage]) -> None:
        """Call it before `has`: whether a bucket has a segment takes a request."""
        segments = {Reference.parse(page.archive).segment for page in pages if page.archive is not None}
        if unknown := segments - self._found:
            self._found |= await asyncio.to_thread(self._readable, unknown)

    def has(self, page: EarlierPage) -> bool:
        """Whether this machine can read the segment that has the body. Reading it may still fail."""
        return page.archive is not None and Reference.parse(page.archive).segment in self._found

    def _readable(self, segments: Iterable[str]) -> set[str]:
        with suppress(Unavailable):
            return {segment for segment in segments if self._archive.bytes_of(segment) is not None}
        return set()

    async def response(self, page: EarlierPage, call: Fetch) -> Exchange | None:
        """The response that first brought the page; None if the archive does not have exactly this body."""
        return await asyncio.to_thread(self._read, page, call)

    def _read(self, page: EarlierPage, call: Fetch) -> Exchange | None:
        assert page.archive is not None
        archive = self._archive.reader()
        try:
            head, raw = archive.record(Reference.parse(page.archive)).http
            reason, headers = parse_head(head)
            body = decode(raw, ",".join(headers.get_all("content-encoding")), most_unpacked_bytes(call)).body
        except (Unavailable, CannotDecode, DecodedTooLarge):
            return None
        finally:
            archive.close()
        if digest(body) != page.digest:
            return None
        status = int(head.split(b" ", 2)[1])
        return Exchange(call.url, status, reason, headers, head, raw, body, "1.1", "", 0.0, 0.0)
