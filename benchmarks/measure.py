"""Runs a crawl as a child process and measures its cost: CPU time of all its processes, wall time, memory.

Every contender ends its output with the line `{"type": "summary", "pages": N, ...}`. A run counts only if it has
exactly the expected number of pages and, in some parts, items.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from resource import struct_rusage
from typing import Any

from benchmarks.peak_memory import PeakMemory

LIMIT_S = 900.0


class CannotMeasure(Exception):
    """Something is missing, or a contender failed; the message is for people."""


@dataclass(frozen=True, slots=True)
class Window:
    """A number of pages, and their cost."""

    pages: int
    cpu_s: float
    wall_s: float

    @property
    def cpu_ms_per_page(self) -> float:
        return 1000 * self.cpu_s / self.pages

    @property
    def pages_per_s(self) -> float:
        return self.pages / self.wall_s


@dataclass(frozen=True, slots=True)
class Run(Window):
    """A complete crawl."""

    peak_bytes: int
    """Of the largest process."""


def measure(argv: list[str], expected: Mapping[str, int], scratch: Path, extra: Mapping[str, str]) -> Run:
    """Runs `argv` in `scratch` with this extra environment, for at most LIMIT_S; its summary must equal `expected`."""
    out, err = scratch / "stdout", scratch / "stderr"
    began = time.perf_counter()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        # In its own session, so that all its children end with it.
        child = subprocess.Popen(
            argv, cwd=scratch, env=environment(extra), stdout=stdout, stderr=stderr, start_new_session=True
        )
        memory = PeakMemory(child.pid)
        memory.start()
        used = wait(child)
    wall_s = time.perf_counter() - began
    peak_bytes = memory.stop()
    summary = summary_of(out.read_text())
    counts = {name: summary.get(name, 0) for name in expected}
    if child.returncode != 0 or counts != expected:
        ended = f"ended with code {child.returncode} and {counts} instead of {expected} after {wall_s:.1f} s"
        raise CannotMeasure(f"{shlex.join(argv)}\n{ended}:\n{err.read_text()[-2000:]}")
    return Run(expected["pages"], used.ru_utime + used.ru_stime, wall_s, peak_bytes)


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """This process's environment, without what would change a contender: its settings, Python's, and proxies."""
    plain = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SHOAL_", "SCRAPY_", "CRAWLEE_", "PYTHON")) and not name.lower().endswith("_proxy")
    }
    return {**plain, **extra}


def wait(child: subprocess.Popen[bytes]) -> struct_rusage:
    """Waits at most LIMIT_S; returns the resources used by the child and all descendants that it waited for."""
    alarm = threading.Timer(LIMIT_S, kill, [child.pid])
    alarm.start()
    try:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    finally:
        alarm.cancel()
        kill(child.pid)
    return used


def kill(session: int) -> None:
    """Kills all remaining processes of a session."""
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        pass


def summary_of(output: str) -> dict[str, Any]:
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            summary: dict[str, Any] = json.loads(line)
            if summary.get("type") == "summary":
                return summary
    return {}
