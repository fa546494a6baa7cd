"""Marks the page that is being parsed, in a file that outlives the process. If the process dies, only it is blamed.

A killed process may have been parsing an innocent page, so a page is given up only after several crashes. But after a
fault, such as a segmentation fault, Python adds a traceback to the file: then the page is given up at once.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_CRASHES = 3
_TOKEN = struct.Struct("<q")


class CrashMarker:
    def __init__(self, path: Path) -> None:
        if not path.exists() or path.stat().st_size < _TOKEN.size:
            path.write_bytes(bytes(_TOKEN.size))
        self._file = os.open(path, os.O_RDWR | os.O_APPEND)
        self._memory = mmap.mmap(self._file, _TOKEN.size)

    def set(self, token: int) -> None:
        _TOKEN.pack_into(self._memory, 0, token)

    def clear(self) -> None:
        self.set(0)

    @contextmanager
    def with_faults(self) -> Iterator[None]:
        """Notes faults of this process until it returns. If Python's fault handler is in use already, it is left so."""
        os.ftruncate(self._file, _TOKEN.size)
        if faulthandler.is_enabled():
            yield
            return
        faulthandler.enable(self._file)
        try:
            yield
        finally:
            faulthandler.disable()

    def left_behind(self) -> list[int]:
        """The token of the page that was being parsed when the last process died, once per crash to count."""
        (token,) = _TOKEN.unpack_from(self._memory, 0)
        if not token:
            return []
        was_fault = os.fstat(self._file).st_size > _TOKEN.size
        return [token] * MAX_CRASHES if was_fault else [token]

    def close(self) -> None:
        self._memory.close()
        os.close(self._file)


class PageMark:
    """The mark of one page."""

    def __init__(self, marker: CrashMarker, token: int) -> None:
        self._marker = marker
        self._token = token

    def set(self) -> None:
        self._marker.set(self._token)

    def clear(self) -> None:
        self._marker.clear()
