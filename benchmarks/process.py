"""A running crawler: its CPU time and memory at any moment."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import environment, kill

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Process:
    def __init__(self, child: subprocess.Popen[bytes], output: Path) -> None:
        self._child = child
        self._proc = Path("/proc", str(child.pid))
        self._output = output
        self.started = time.monotonic()

    def running(self) -> bool:
        return self._child.poll() is None

    def cpu_s(self) -> float:
        # The process name may contain spaces; user and system time are the 12th and 13th fields after it.
        after_name = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / _TICKS_PER_S

    def memory_bytes(self) -> int:
        return self._status_bytes("VmRSS")

    def peak_bytes(self) -> int:
        return self._status_bytes("VmHWM")

    def kill(self) -> None:
        """Like kill -9."""
        kill(self._child.pid)
        self._child.wait()

    def ended(self) -> tuple[int, str]:
        """Its exit code and output."""
        return self._child.wait(), self._output.read_text()

    def _status_bytes(self, field: str) -> int:
        for line in (self._proc / "status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
        # A process that has ended but was not waited for has no memory.
        return 0


@contextmanager
def running(argv: list[str], scratch: Path) -> Iterator[Process]:
    """Runs the command in its own session, and kills the whole session after the block."""
    output = scratch / "output"
    with output.open("wb") as stdout:
        child = subprocess.Popen(
            argv, cwd=scratch, env=environment({}), stdout=stdout, stderr=subprocess.STDOUT, start_new_session=True
        )
    process = Process(child, output)
    try:
        yield process
    finally:
        process.kill()
