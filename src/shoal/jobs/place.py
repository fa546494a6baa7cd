"""Where jobs live: a home or a fleet. What differs between the two is here; all else about a job is not.

A job that a place cannot steer is refused with a UsageError that says where it can be.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from shoal.errors import HomeError
from shoal.frontier.contract import Frontier
from shoal.model import Figures, JobState
from shoal.store.archive.archive import Archive
from shoal.store.figures import stored_figures
from shoal.store.jobs import Job
from shoal.store.store import Store
from shoal.telemetry import Events

_OURS = (
    *("shoal.db", "frontier.db", "spool", "archive", "lock", "run", "up.json", "redis", "logs", "parsing"),
    "admin-token",
)
"""How the names in a home begin: SQLite adds endings."""
log = Events(__name__)


class Standing(NamedTuple):
    """How a job stands right now, by what is true and not only by what is written."""

    job: Job
    state: JobState
    figures: Figures
    limiting: str | None
    """Of a running or waiting job: what it waits for. Of another: why it is what it is."""


class Place(Protocol):
    @property
    def store(self) -> Store: ...

    @property
    def frontier(self) -> Frontier: ...

    @property
    def archive(self) -> Archive: ...

    async def standing(self, job: Job) -> Standing:
        """Cheap enough to be asked for twice a second."""

    async def pause(self, job: Job) -> str:
        """Gives the words that say what comes of it, as `resume` and `cancel` do."""

    async def resume(self, job: Job) -> str | None:
        """None: nobody works on it, and it can go on in this process."""

    async def change_limits(self, job: Job, limits: Mapping[str, Any]) -> None:
        """By the names of `Limits`; those that are not given stay. A job that a limit ended can go on then.

        Raises UsageError if they do not let it.
        """

    async def cancel(self, job: Job) -> str: ...

    def at_rest(self, job: Job) -> AbstractContextManager[None]:
        """Keeps a job that nobody works on as it is, while its items are replaced; otherwise raises Unavailable."""

    def reopened(self, job: Job) -> AbstractAsyncContextManager[JobState]:
        """While dead letters go back to the frontier; gives the state that the job is in with them."""


def counted(store: Store, job_id: str) -> Figures:
    """The figures of a job that its frontier knows nothing of, as far as the store can tell."""
    stored = stored_figures(store, job_id)
    ended = stored.pages + stored.redirects + stored.dead + sum(stored.dropped.values())
    return Figures(
        found=ended,
        pages=stored.pages,
        redirects=stored.redirects,
        dead=stored.dead,
        dropped=stored.dropped,
        pending_known=False,
    )


def nothing_to(wish: str, job: Job, state: JobState) -> str:
    return f"job {job.id} is {state}: there is nothing to {wish}"


def make_folder(path: Path) -> None:
    """For its owner only: a job may carry passwords, cookies and keys. One that is there is closed to others too, if it
    is ours and holds nothing else; otherwise a warning says how."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_open = bool(path.stat().st_mode & stat.S_IRWXO)
    except OSError as error:
        raise unusable_home(path, error) from error
    if is_open and not _closed(path):
        _warn_once(path)


def _closed(path: Path) -> bool:
    """False if it is not ours to close, or on a disk that is only read."""
    with suppress(OSError):
        if path.stat().st_uid == os.geteuid() and _holds_only_ours(path):
            path.chmod(0o700)
            return True
    return False


def _holds_only_ours(path: Path) -> bool:
    """Others may need what else is there: a home may be `.`, or even /tmp."""
    with os.scandir(path) as entries:
        return all(entry.name.startswith(_OURS) for entry in entries)


@cache
def _warn_once(path: Path) -> None:
    words = f"other users of this machine can read {path}, which may hold passwords and cookies: chmod 700 {path}"
    log.warning("home_open", words, path=str(path))


def unusable_home(path: Path, error: OSError) -> HomeError:
    return HomeError(f"{path} cannot be used as a home: {error.strerror}; choose another with --home")
