"""A program with all the processes it starts: their processor time and memory together, at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from resource import struct_rusage

from benchmarks.measure import CannotMeasure, environment, kill, wait

START_S = 30.0
QUIET_S = 1.0
QUIET_CPU_S = 0.03
END_S = 30.0
POLL_S = 0.05
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Session:
    def __init__(self, child: subprocess.Popen[bytes], output: Path) -> None:
        self._child = child
        self._output = output

    def running(self) -> bool:
        return self._child.poll() is None

    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def cpu_s(self) -> float:
        """Of those that live, and of those that ended and were waited for."""
        return sum(sum(map(int, stat[11:15])) for _, stat in self._processes()) / _TICKS_PER_S

    def memory_bytes(self) -> int:
        """What processes share after a fork is counted once."""
        return sum(_field_bytes(proc / "smaps_rollup", "Pss") for proc, _ in self._processes())

    def peak_bytes(self) -> int:
        """Of the largest process."""
        return max((_field_bytes(proc / "status", "VmHWM") for proc, _ in self._processes()), default=0)

    def count(self) -> int:
        return sum(1 for _ in self._processes())

    def settle(self) -> None:
        """Returns when it has started and waits for work: it has used next to no processor for a second."""
        deadline, used_s = time.monotonic() + START_S, -1.0
        while (now_s := self.cpu_s()) - used_s > QUIET_CPU_S:
            if not self.running() or time.monotonic() > deadline:
                raise CannotMeasure(f"it was not ready within {START_S:.0f} s:\n{self.output()[-2000:]}")
            used_s = now_s
            time.sleep(QUIET_S)

    def used(self) -> struct_rusage:
        """When it has ended by itself, well: what all its processes have used."""
        used = wait(self._child)
        self.must_have_succeeded()
        return used

    def must_have_succeeded(self) -> None:
        if self._child.returncode != 0:
            raise CannotMeasure(f"it ended with code {self._child.returncode}:\n{self.output()[-2000:]}")

    def end(self) -> None:
        """As an operator does, and by force if that does not help."""
        if self.running():
            self._child.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + END_S
            while self.running() and time.monotonic() < deadline:
                time.sleep(POLL_S)
        kill(self._child.pid)
        self._child.wait()

    def _processes(self) -> Iterator[tuple[Path, list[str]]]:
        """Each with the fields of its `stat` after its name, which may hold spaces."""
        for proc in Path("/proc").glob("[0-9]*"):
            try:
                stat = (proc / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(stat[3]) == self._child.pid:
                yield proc, stat


def _field_bytes(file: Path, field: str) -> int:
    try:
        lines = file.read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


@contextmanager
def session(argv: list[str], output: Path, extra: Mapping[str, str]) -> Iterator[Session]:
    """Of which nothing is left when the block ends. What it writes goes to `output`."""
    with output.open("wb") as stdout:
        child = subprocess.Popen(
            argv,
            cwd=output.parent,
            env=environment(extra),
            stdout=stdout,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    started = Session(child, output)
    try:
        yield started
    finally:
        started.end()
