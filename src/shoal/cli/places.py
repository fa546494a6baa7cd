"""Where a command finds jobs and acts on them: the fleet, if the settings name one, and the home.

A fleet without a database of its own keeps its jobs in the home, beside those that were crawled there.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.embedded.home import Home
from shoal.errors import UnknownJob, UsageError
from shoal.jobs.place import Place, unusable_home
from shoal.settings import Settings
from shoal.store.jobs import Job, find_job

if TYPE_CHECKING:
    from shoal.fleet.place import Fleet

DATABASE = "shoal.db"


class Places:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def here(self) -> Place:
        """The fleet, else the home: where a command acts that is not about a job."""
        return self._fleet or self._home_there

    def of(self, job: Job) -> Place:
        if job.fleet and self._fleet:
            return self._fleet
        return self._home_there

    def find(self, name: str) -> tuple[Place, Job]:
        """The job by its id, the beginning of one, or "last", and where it can be steered."""
        try:
            job = find_job(self.here.store, name)
        except UnknownJob:
            if self._fleet is None or not self._has_home:
                raise
            # A crawl begun here stays here, whatever the fleet's database is.
            job = find_job(self._home_there.store, name)
        return self.of(job), job

    @property
    def exist(self) -> bool:
        """Whether there can be a job at all."""
        return self._has_home or (self._fleet is not None and self._settings.database_url is not None)

    async def close(self) -> None:
        if fleet := self.__dict__.get("_fleet"):
            await fleet.close()
        if home := self.__dict__.get("_home_there"):
            home.close()

    @cached_property
    def _fleet(self) -> Fleet | None:
        if self._settings.redis_url is None:
            return None
        if self._settings.database_url is None:
            home_database(self._settings)
        # Only here: most have no use for a client of Redis.
        from shoal.fleet.place import Fleet

        return Fleet(self._settings)

    @cached_property
    def _home_there(self) -> Home:
        home_database(self._settings)
        return Home(self._settings.home, self._settings.archive_url)

    @property
    def _has_home(self) -> bool:
        return _is_there(self._settings.home)


def home_database(settings: Settings) -> Path:
    """Raises UsageError if there is none."""
    if not _is_there(settings.home):
        begin = "submit" if settings.redis_url else "crawl"
        raise UsageError(
            f"there is no home at {settings.home} yet: `shoal {begin} URL` makes one, --home names another"
        )
    return settings.home / DATABASE


def _is_there(home: Path) -> bool:
    """Raises HomeError if the home is something else than a folder, or may not be looked into."""
    try:
        (home / DATABASE).stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unusable_home(home, error) from error
    return True
