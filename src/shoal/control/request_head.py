"""Collects the head of a request piece by piece, so that no thread waits for the rest of it.

It is complete at its empty line. A head that is too long, or not HTTP, is refused before that.
"""

from __future__ import annotations

import re

HEAD_BYTES = 32 << 10
LINE_BYTES = 8190
LIVEZ, READYZ = b"/livez", b"/readyz"
_END = b"\r\n\r\n"
_BARE_LF = re.compile(rb"(?<!\r)\n")
_HEALTH = re.compile(rb"(?:\r\n)?(?:GET|HEAD) (/livez|/readyz)(?:\?[^ \r\n]*)? HTTP/1\.[01]\r\n")


class BadHead(Exception):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class RequestHead:
    def __init__(self) -> None:
        self._data = bytearray()

    @property
    def is_empty(self) -> bool:
        return not self._data

    @property
    def health_path(self) -> bytes | None:
        """LIVEZ or READYZ if a complete head requests one of these."""
        found = _HEALTH.match(self._data)
        return found and found[1]

    def add(self, data: bytes) -> bool:
        """Returns whether the head is complete now; also keeps the bytes after it. Raises BadHead."""
        # The end may have started in the last piece.
        start = max(0, len(self._data) - len(_END) + 1)
        self._data += data
        end = self._data.find(_END, start)
        if (end if end >= 0 else len(self._data)) > HEAD_BYTES:
            raise BadHead(431, f"the head of the request is longer than {HEAD_BYTES:,} bytes")
        if end < 0:
            self._check_unfinished(start)
        return end >= 0

    def take(self) -> bytes:
        """Returns and clears all bytes."""
        data, self._data = bytes(self._data), bytearray()
        return data

    def _check_unfinished(self, start: int) -> None:
        if len(self._data) > LINE_BYTES + 2 and self._data.find(b"\r\n", 2) < 0:
            raise BadHead(414, f"the first line of the request is longer than {LINE_BYTES:,} bytes")
        if _BARE_LF.search(self._data, start):
            raise BadHead(400, "a line of the head ends without a carriage return")
