"""One process of a Scrapy job that a worker runs: its start, its log, its end, and when it may start again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from enum import IntEnum
from importlib.util import find_spec
from pathlib import Path

from shoal.fleet.scrapy_jobs import ScrapyJob
from shoal.fleet.scrapy_logs import scrapy_logs
from shoal.fleet.supervisor import LAST_BYTES, LOG_BYTES, PAUSES_S, STEADY_S, kill_group
from shoal.settings import Settings
from shoal.telemetry.read_logs import event_text

PROGRAM = "shoal.scrapy.managed_process"
"""By its name only: the fleet does not know Scrapy."""
TRIES = 5
"""After so many crashes in a row, each soon after the start, the process is given up."""
END_WITHIN_S = 20.0
"""How long a process that was asked to stop may finish its requests in flight."""


class ExitCode(IntEnum):
    """How the program tells why it ended. Any other code is a crash."""

    FINISHED = 0
    """The queue was empty."""
    CLOSED = 3
    """The spider closed itself for another reason, such as CLOSESPIDER_PAGECOUNT or a cancelled job."""
    INTERRUPTED = 75
    """It was asked to stop, or took too much memory: another process continues."""
    NO_SPIDER = 78
    """The project has no spider of this name, and would have none at the next start."""


class ScrapyProcess:
    def __init__(self, settings: Settings, job: ScrapyJob, slot: int) -> None:
        self.job = job
        self.slot = slot
        self.due_at = time.monotonic()
        """When it may start."""
        self.crashes = 0
        """In a row."""
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._log_start = 0
        self._stopped_at: float | None = None
        self.is_taken = False
        """Another worker runs it now."""

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def log(self) -> Path:
        return scrapy_logs(self._settings.home) / f"{self.job.id}-{self.slot}.log"

    def start(self) -> None:
        """Raises OSError."""
        self.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            # In a session of its own: a browser that the spider started is killed with it.
            self._process = subprocess.Popen(
                # -P: it adds to its path what it has read itself that it is to run.
                [sys.executable, "-P", "-m", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as stdin:
            # Not in its arguments, which every user of the machine can list.
            stdin.write(self._description().encode())
        self._started_at, self._stopped_at = time.monotonic(), None

    def _description(self) -> str:
        names = ("redis_url", "database_url", "home")
        shoal = {name: str(value) for name in names if (value := getattr(self._settings, name)) is not None}
        return json.dumps({"job": self.job.id, "shoal": shoal, "parent": os.getpid()})

    def ended(self) -> int | None:
        """Its exit code, once; None while it runs or has not been started."""
        self._bound_log()
        code = None if self._process is None else self._process.poll()
        if self._process is None or code is None:
            return None
        kill_group(self._process.pid)
        self._process = None
        if code < 0 and self._stopped_at is not None:
            # It was stopped before it could answer signals, or took too long.
            return ExitCode.INTERRUPTED
        return code

    def pause_after_crash(self) -> float:
        """Sets `due_at`, ever later after crashes that follow each other."""
        steady = time.monotonic() - self._started_at > STEADY_S
        self.crashes = 1 if steady else self.crashes + 1
        pause_s = PAUSES_S[min(self.crashes - 1, len(PAUSES_S) - 1)]
        self.due_at = time.monotonic() + pause_s
        return pause_s

    def stop(self) -> None:
        """Asks it to stop; kills it if it was asked long ago."""
        if self._process is None:
            return
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
            self._process.terminate()
        elif time.monotonic() - self._stopped_at > END_WITHIN_S:
            kill_group(self._process.pid)

    @property
    def last_line(self) -> str:
        """Of its log, since it was started."""
        with suppress(OSError), self.log.open("rb") as log:
            log.seek(max(self._log_start, os.fstat(log.fileno()).st_size - LAST_BYTES))
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
            return event_text(lines[-1]) if lines else ""
        return ""

    def _bound_log(self) -> None:
        """Rotates the log. The process appends, so after truncation it continues at the start."""
        with suppress(OSError):
            if self.log.stat().st_size > LOG_BYTES:
                shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)
                self._log_start = 0


def is_folder(project: str) -> bool:
    return "/" in project or os.sep in project


def has_project(project: str) -> bool:
    """Whether this machine has it."""
    try:
        return Path(project).is_dir() if is_folder(project) else find_spec(project) is not None
    except (Exception, SystemExit):
        # The folder may be closed to this user; find_spec imports the package, which can raise anything.
        return False


def ended_with(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
