"""The peak memory of the largest process of a session, read from /proc while it runs.

`ru_maxrss` would not do: a child inherits the size of the process that starts it, and this one is larger than wget.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

_EVERY_S = 0.1
_SESSION = 3
"""The place of the session among the fields of /proc/PID/stat that follow the name."""


class PeakMemory(threading.Thread):
    """The kernel keeps the peak of each process, so only the growth of its last moments is missed."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self._session = str(session)
        self._peaks: dict[str, int] = {}
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(_EVERY_S):
            for process in self._processes():
                self._peaks[process.name] = _peak_bytes(process) or self._peaks.get(process.name, 0)

    @property
    def bytes(self) -> int:
        """So far."""
        return max([*self._peaks.values()], default=0)

    def stop(self) -> int:
        self._ended.set()
        self.join()
        return self.bytes

    def _processes(self) -> Iterator[Path]:
        for process in Path("/proc").glob("[0-9]*"):
            # The name may contain spaces.
            fields = _read(process / "stat").rpartition(")")[2].split()
            if fields[_SESSION : _SESSION + 1] == [self._session]:
                yield process


def _peak_bytes(process: Path) -> int:
    lines = _read(process / "status").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        # The process has ended.
        return ""
