"""The head of a request, collected piece by piece, so that nobody waits for the rest of it.

It is whole at its empty line. One that is too long, or cannot be HTTP, is refused before that.
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
        """Of a whole one: LIVEZ or READYZ, if it asks for one of these."""
        found = _HEALTH.match(self._data)
        return found and found[1]

    def add(self, data: bytes) -> bool:
        """Whether it is whole now; what follows it is kept too. Raises BadHead."""
        # The end may have begun with the last piece.
        start = max(0, len(self._data) - len(_END) + 1)
        self._data += data
        end = self._data.find(_END, start)
        if (end if end >= 0 else len(self._data)) > HEAD_BYTES:
            raise BadHead(431, f"the head of the request is longer than {HEAD_BYTES:,} bytes")
        if end < 0:
            self._check_unfinished(start)
        return end >= 0

    def take(self) -> bytes:
        """All that has come; afterwards there is nothing."""
        data, self._data = bytes(self._data), bytearray()
        return data

    def _check_unfinished(self, start: int) -> None:
        if len(self._data) > LINE_BYTES + 2 and self._data.find(b"\r\n", 2) < 0:
            raise BadHead(414, f"the first line of the request is longer than {LINE_BYTES:,} bytes")
        if _BARE_LF.search(self._data, start):
            raise BadHead(400, "a line of the head ends without a carriage return")
