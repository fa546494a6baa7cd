"""One process that is kept running: started again when it ends or makes no progress, with ever longer pauses.

A lock goes with it into the process and ends with it, however either ends. So a supervisor that was killed leaves
nothing unseen: the next one finds by the lock that the process lives, and by its id which one it is.
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

from shoal.telemetry.reading import said

PAUSES_S = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
START_S = 60.0
"""How long it may take to give its first sign of life, beyond what is silence later."""
STEADY_S = 60.0
"""Whatever ran for so long is started again without a pause."""
LOG_BYTES = 10_000_000
LAST_BYTES = 4_000
ID_BYTES = 20
LOOK_EVERY_S = 0.05


@dataclass
class Part:
    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    home: Path
    progressed_at: Callable[[int], float | None]
    """When the process with this id last got anywhere, by the monotonic clock; None: not yet told."""
    end_within_s: float
    feed: str = ""
    """For its standard input."""

    _process: subprocess.Popen[bytes] | None = None
    _started_at: float = 0.0
    _due_at: float = 0.0
    _ends: int = 0
    _log_start: int = 0
    """Where in its log the words of this process begin."""

    @property
    def log(self) -> Path:
        return self.home / "logs" / f"{self.name}.log"

    @property
    def pid(self) -> int | None:
        """None: it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.log.open("ab") as log, _lock_file(self.home, self.name) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._log_start = log.tell()
            # In a session of its own: Ctrl-C on the terminal is for whoever supervises.
            self._process = subprocess.Popen(
                self.command,
                env=self.env,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[lock],
                start_new_session=True,
            )
            # Over the last one's, of the same length: that takes no room of a disk that is full.
            os.pwrite(lock, f"{self._process.pid:<{ID_BYTES}}".encode(), 0)
        assert self._process.stdin is not None
        self._process.stdin.write(self.feed.encode())
        self._process.stdin.close()
        self._started_at = time.monotonic()

    def look(self, silent_s: float) -> str | None:
        """Sees to it that it runs; gives the words for what had to be done."""
        self._bound_log()
        if self._process is None:
            # What the last one left was killed too, and may not be gone yet.
            is_due = time.monotonic() >= self._due_at and left_behind(self.home, self.name) is None
            return self._start_again() if is_due else None
        code = self._process.poll()
        if code is not None:
            # Whoever is killed has no time for words: those before say nothing of it.
            return self._down(_ended_with(code), None if code == -signal.SIGKILL else self._last_words())
        progressed_at = self.progressed_at(self._process.pid)
        if progressed_at is None or progressed_at < self._started_at:
            # What was seen before it started says nothing of it.
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
        return f"{self.name} is started again, process {self.pid}"

    def _down(self, why: str, last_words: str | None) -> str:
        assert self._process is not None
        pid, self._process = self._process.pid, None
        kill_group(pid)
        steady = time.monotonic() - self._started_at > STEADY_S
        self._ends = -1 if steady else self._ends
        told = f"{self.name}, process {pid}, {why}; {self._pause()}; {self.log} has its last words"
        return f"{told}: {last_words}" if last_words else told

    def _pause(self) -> str:
        self._ends += 1
        pause_s = PAUSES_S[min(self._ends, len(PAUSES_S) - 1)]
        self._due_at = time.monotonic() + pause_s
        return f"again in {pause_s:g} s" if pause_s else "again at once"

    def _last_words(self) -> str | None:
        with suppress(OSError), self.log.open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            # One that was cut, or set aside for another, begins anew.
            start = self._log_start if self._log_start <= size else 0
            log.seek(max(start, size - LAST_BYTES))
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
            return said(lines[-1]) if lines else None
        return None

    def terminate(self) -> None:
        if self.pid is not None:
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        if self._process is not None:
            kill_group(self._process.pid)
            self._process.wait()

    def _bound_log(self) -> None:
        """Its writers append, so what they write next is at the beginning."""
        with suppress(OSError):
            # Somebody removed it, or there is no room for a copy: the process is looked after all the same.
            if self.log.stat().st_size > LOG_BYTES:
                shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)


def left_behind(home: Path, name: str) -> int | None:
    """The id of the process that a supervisor left when it was killed, if it lives."""
    with _lock_file(home, name) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(os.pread(lock, ID_BYTES, 0))
    return None


def kill_group(pid: int) -> None:
    """A part and what it started: its own processes hold its lock, and the API's its port. While one of them lives
    nobody else gets that number."""
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
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
