"""Keeps one process running: restarts it when it ends or makes no progress, with ever longer pauses.

The process inherits a lock, which ends with it. So if the supervisor is killed, the next one sees by the lock that the
process lives, and finds its id in the lock file.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shoal.telemetry.read_logs import event_text

PAUSES_S = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
START_S = 60.0
"""Extra time until its first heartbeat, on top of the silence that is allowed later."""
STEADY_S = 60.0
"""A process that ran for this long is restarted without a pause."""
LOG_BYTES = 10_000_000
LAST_BYTES = 4_000
ID_BYTES = 20
LOOK_EVERY_S = 0.05


@dataclass
class SupervisedProcess:
    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    home: Path
    progressed_at: Callable[[int], float | None]
    """When the process with this id last made progress, by the monotonic clock; None: not known yet."""
    end_within_s: float
    feed: str = ""
    """For its standard input."""

    _process: subprocess.Popen[bytes] | None = None
    _started_at: float = 0.0
    _due_at: float = 0.0
    _ends: int = 0
    _log_start: int = 0
    """Where the output of this process begins in its log."""

    @property
    def log(self) -> Path:
        return self.home / "logs" / f"{self.name}.log"

    @property
    def pid(self) -> int | None:
        """None: it is not running."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.log.open("ab") as log, _lock_file(self.home, self.name) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._log_start = log.tell()
            # In its own session: Ctrl-C on the terminal is for the supervisor only.
            self._process = subprocess.Popen(
                self.command,
                env=self.env,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[lock],
                start_new_session=True,
            )
            # Overwrites the last id with the same length: that works on a full disk, too.
            os.pwrite(lock, f"{self._process.pid:<{ID_BYTES}}".encode(), 0)
        assert self._process.stdin is not None
        self._process.stdin.write(self.feed.encode())
        self._process.stdin.close()
        self._started_at = time.monotonic()

    def look(self, silent_s: float) -> str | None:
        """Restarts the process if needed; returns a message if it did something."""
        self._bound_log()
        if self._process is None:
            # The children of the last process were killed too, but may not be gone yet.
            is_due = time.monotonic() >= self._due_at and left_behind(self.home, self.name) is None
            return self._start_again() if is_due else None
        code = self._process.poll()
        if code is not None:
            # A killed process logs nothing about it: its last line has another subject.
            return self._down(_ended_with(code), None if code == -signal.SIGKILL else self._last_line())
        progressed_at = self.progressed_at(self._process.pid)
        if progressed_at is None or progressed_at < self._started_at:
            # A heartbeat from before its start belongs to another process.
            progressed_at = self._started_at + START_S
        silent = time.monotonic() - progressed_at
        if silent <= silent_s:
            return None
        self.kill()
        return self._down(f"made no progress for {silent:.0f} s and was killed", None)

    def _start_again(self) -> str:
        try:
            self.start()
        except OSError as error:
            return f"{self.name} could not be started: {error}; {self._pause()}"
        return f"{self.name} is restarted, process {self.pid}"

    def _down(self, why: str, last_line: str | None) -> str:
        assert self._process is not None
        pid, self._process = self._process.pid, None
        kill_group(pid)
        steady = time.monotonic() - self._started_at > STEADY_S
        self._ends = -1 if steady else self._ends
        text = f"{self.name}, process {pid}, {why}; {self._pause()}; log: {self.log}"
        return f"{text}: {last_line}" if last_line else text

    def _pause(self) -> str:
        self._ends += 1
        pause_s = PAUSES_S[min(self._ends, len(PAUSES_S) - 1)]
        self._due_at = time.monotonic() + pause_s
        return f"restart in {pause_s:g} s" if pause_s else "restart at once"

    def _last_line(self) -> str | None:
        with suppress(OSError), self.log.open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            # A truncated or rotated log starts at 0 again.
            start = self._log_start if self._log_start <= size else 0
            log.seek(max(start, size - LAST_BYTES))
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
            return event_text(lines[-1]) if lines else None
        return None

    def terminate(self) -> None:
        if self.pid is not None:
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        if self._process is not None:
            kill_group(self._process.pid)
            self._process.wait()

    def _bound_log(self) -> None:
        """Rotates the log. Its writers append, so after truncation they continue at the start."""
        with suppress(OSError):
            # The log was removed, or the disk is full: the process must be supervised all the same.
            if self.log.stat().st_size > LOG_BYTES:
                shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)


def left_behind(home: Path, name: str) -> int | None:
    """The id of a living process that a killed supervisor left behind."""
    with _lock_file(home, name) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(os.pread(lock, ID_BYTES, 0))
    return None


def kill_group(pid: int) -> None:
    """Kills a process and its children, which hold its lock, and the API's port. While one of them lives, the system
    does not reuse the group's number."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


class _lock_file:
    def __init__(self, home: Path, name: str) -> None:
        folder = home / "run"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / f"{name}.lock"

    def __enter__(self) -> int:
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._file

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def _ended_with(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
