"""A deployment holds jobs: it is a home or a fleet. This interface covers all that differs between the two.

A deployment refuses a job that it cannot control with a UsageError that names the right one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from shoal.errors import HomeError
from shoal.frontier.contract import Frontier
from shoal.model import Figures, JobState
from shoal.store.archive.archive_folders import Archive
from shoal.store.jobs import Job
from shoal.store.results.job_figures import outcome_counts
from shoal.store.store import Store
from shoal.telemetry import EventLogger

_OURS = (
    *("shoal.db", "frontier.db", "spool", "archive", "crawls", "run", "up.json", "redis", "logs"),
    "admin-token",
)
"""Prefixes of the file names in a home: SQLite appends suffixes to some."""
log = EventLogger(__name__)


class JobStatus(NamedTuple):
    """A job's current status, from what is running and not only from what is stored."""

    job: Job
    state: JobState
    figures: Figures
    limiting: str | None
    """For a running or waiting job: what it waits for. Otherwise: the reason of its state."""
    pid: int | str | None = None
    """The process of this machine that crawls it; None: there is none, or a fleet does."""
    ready_hosts: int | None = None
    """How many hosts a running job has queued requests for."""


class Deployment(Protocol):
    @property
    def store(self) -> Store: ...

    @property
    def frontier(self) -> Frontier: ...

    @property
    def archive(self) -> Archive: ...

    async def job_status(self, job: Job) -> JobStatus:
        """Cheap enough to call twice a second."""

    async def pause(self, job: Job) -> str:
        """Returns a sentence about what happens next, like `resume` and `cancel`."""

    async def resume(self, job: Job) -> str | None:
        """None: no process works on it, and the caller may continue it in this process."""

    async def change(self, job: Job, fields: Mapping[str, Any]) -> None:
        """Changes these fields of the job's spec. A job that a limit ended can continue if that limit is raised.

        Raises UsageError if it is not.
        """

    async def cancel(self, job: Job) -> str: ...

    async def remove(self, job: Job) -> None:
        """Removes a job that nobody works on, with all its data. Raises UsageError or Unavailable if somebody does."""

    def at_rest(self, job: Job) -> AbstractContextManager[None]:
        """Keeps an idle job unchanged while its items are replaced. Raises Unavailable if somebody works on it."""

    def reopened(self, job: Job) -> AbstractAsyncContextManager[JobState]:
        """Used while dead letters return to the frontier; gives the job's state from then on."""


def figures_from_store(store: Store, job_id: str) -> Figures:
    """The figures of a job that is not in the frontier, as far as the store knows them."""
    counts = outcome_counts(store, job_id)
    figures = Figures(**counts._asdict(), pending_known=False)
    return replace(figures, found=figures.ended)


def nothing_to(action: str, job: Job, state: JobState) -> str:
    return f"job {job.id} is {state}: there is nothing to {action}"


def make_folder(path: Path) -> None:
    """Creates the folder for its owner only: a job may contain passwords, cookies and keys. Closes an existing folder
    to others too, if we own it and it holds nothing but our files; otherwise warns and says how."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_open = bool(path.stat().st_mode & stat.S_IRWXO)
    except OSError as error:
        raise unusable_home(path, error) from error
    if is_open and not _closed(path):
        _warn_once(path)


def _closed(path: Path) -> bool:
    """False if we do not own it, or if its disk is read-only."""
    with suppress(OSError):
        if path.stat().st_uid == os.geteuid() and _holds_only_ours(path):
            path.chmod(0o700)
            return True
    return False


def _holds_only_ours(path: Path) -> bool:
    """Others may need other files there: a home may be `.`, or even /tmp."""
    with os.scandir(path) as entries:
        return all(entry.name.startswith(_OURS) for entry in entries)


@cache
def _warn_once(path: Path) -> None:
    words = f"other users of this machine can read {path}, which may contain passwords and cookies: chmod 700 {path}"
    log.warning("home_open", words, path=str(path))


def unusable_home(path: Path, error: OSError) -> HomeError:
    return HomeError(f"{path} cannot be used as a home: {error.strerror}; choose another with --home")
