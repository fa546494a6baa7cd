"""A mark, outliving the process, on the page it is parsing: if the process dies, that page alone is blamed."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_TOKEN = struct.Struct("<q")


class Mark:
    def __init__(self, path: Path) -> None:
        if not path.exists() or path.stat().st_size != _TOKEN.size:
            path.write_bytes(bytes(_TOKEN.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _TOKEN.size)

    def set(self, token: int) -> None:
        _TOKEN.pack_into(self._memory, 0, token)

    def clear(self) -> None:
        self.set(0)

    def left_behind(self) -> list[int]:
        """The token of the page that was being parsed when the last process died, if one was."""
        (token,) = _TOKEN.unpack_from(self._memory, 0)
        return [token] if token else []

    def close(self) -> None:
        self._memory.close()
