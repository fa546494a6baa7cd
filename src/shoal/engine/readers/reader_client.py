"""A reader process as this process uses it: starts it, asks it, and tells why it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.cpu_wait import cpu_wait_s
from shoal.engine.readers.process import OUT_OF_MEMORY, WAITS_PER_SECOND, packed, read_frame, unpacked, write_frame

SECONDS = 10.0
"""CPU time for a page or for each of its formats. In wall time it may take WAITS_PER_SECOND times as long."""
MEMORY_BYTES = 1 << 30
"""Limit of address space. The worst of the tested pages of 10 MB take 400 MB."""
NICENESS, NICENESS_AMONG_OTHERS = 2, 10
"""Lower priority than the crawling process: requests and heartbeats go on while pages are read. On a fleet it is lower
still, because other jobs share the machine."""
LAST_NICENESS = 19
"""A reader that needs longer for a page lets all other processes of the machine go first."""
_TIMED_OUT = (-signal.SIGPROF, -signal.SIGALRM)


class ReadFailed(Exception):
    """A page that could not be read. `reason` is the reason of its dead letter."""

    def __init__(self, reason: str, detail: str, status: int = 0) -> None:
        """`status` is the exit status of the process, if it ended."""
        super().__init__(detail)
        self.reason = reason
        self.is_timeout = status in _TIMED_OUT
        self.is_too_costly = self.is_timeout or status == OUT_OF_MEMORY


ReaderRequest = Mapping[str, Any]
"""What a reader should do; process.py lists the tasks."""


class ReaderProcess:
    """One process. `ask`, `reply` and `close` may take long: call them in a thread."""

    def __init__(
        self,
        seconds: float,
        memory_bytes: int,
        niceness: int = NICENESS,
        waited_s: Callable[[int], float] = cpu_wait_s,
    ) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._waited_s = waited_s
        self._cpu_wait_s = 0.0
        self.is_last = False
        # -P: modules come from where ours do, not from the directory in which the crawl was started. A process group of
        # its own: Ctrl-C goes to us only.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shoal.engine.readers.process", *map(str, (seconds, memory_bytes, niceness))],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        assert self._process.stdin and self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def ask(self, question: ReaderRequest, body: bytes) -> None:
        with suppress(BrokenPipeError):
            # If it has ended, waiting for the reply shows that.
            write_frame(self._stdin, packed(question))
            write_frame(self._stdin, body)

    def reply(self) -> dict[str, Any] | None:
        """None: there is no further reply. Raises ReadFailed."""
        frame = read_frame(self._stdout)
        if frame is None:
            # While it can be asked: it has ended, and nobody has waited for it yet.
            self.cpu_wait_s()
            status = self._process.wait()
            raise ReadFailed("poison", self._exit_reason(status), status)
        return unpacked(frame) if frame else None

    def resident_bytes(self) -> int:
        """0 if the system does not tell."""
        statm = Path(f"/proc/{self._process.pid}/statm")
        if not statm.exists():
            return 0
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_wait_s(self) -> float:
        """How long it has waited for a processor. One that has ended keeps its last figure."""
        if self._process.returncode is None:
            self._cpu_wait_s = max(self._cpu_wait_s, self._waited_s(self._process.pid))
        return self._cpu_wait_s

    def lower_priority(self) -> None:
        """Lets it run only when nothing else needs the CPU. This cannot be undone without privileges."""
        self.is_last = True
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, LAST_NICENESS)

    def kill(self) -> None:
        self.cpu_wait_s()
        self._process.kill()

    def close(self) -> None:
        self.kill()
        self._process.wait()
        self._stdout.close()
        with suppress(BrokenPipeError):
            self._stdin.close()

    def _exit_reason(self, status: int) -> str:
        if status == -signal.SIGPROF:
            return f"reading it took more than {self._seconds:g} s"
        if status == -signal.SIGALRM:
            return f"reading it took more than {self._seconds * WAITS_PER_SECOND:g} s, most of it waiting for the CPU"
        if status == OUT_OF_MEMORY:
            return f"reading it took more than {self._memory_bytes // 1_000_000:,} MB of memory"
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"reading it ended its process ({how})"


def ask_once(question: ReaderRequest, body: bytes, seconds: float = SECONDS) -> dict[str, Any]:
    """The only reply of a reader that is started for this question. It can be interrupted. Raises ReadFailed."""
    reader = ReaderProcess(seconds, MEMORY_BYTES)
    try:
        reader.ask(question, body)
        reply = reader.reply()
        assert reply is not None
        if "fault" in reply:
            raise ReadFailed("unreadable", reply["fault"])
        return reply
    finally:
        reader.close()
