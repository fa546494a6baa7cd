"""Finds the deployment that a command acts on: the fleet, if the settings name one, else the home.

A fleet without its own database keeps its jobs in the home, next to the jobs that were crawled there.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.embedded.home import Home
from shoal.errors import UnknownJob, UsageError
from shoal.jobs.deployment import Deployment, unusable_home
from shoal.settings import Settings
from shoal.store.jobs import Job, find_job

if TYPE_CHECKING:
    from shoal.fleet.fleet import Fleet

DATABASE = "shoal.db"


class Deployments:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def here(self) -> Deployment:
        """The fleet, else the home: for commands that are not about a single job."""
        return self._fleet or self._home

    def of(self, job: Job) -> Deployment:
        if job.fleet and self._fleet:
            return self._fleet
        return self._home

    def find(self, name: str) -> tuple[Deployment, Job]:
        """Finds a job by id, id prefix, name or "last"; returns it with the deployment that controls it."""
        try:
            job = find_job(self.here.store, name)
        except UnknownJob:
            if self._fleet is None or not self._has_home:
                raise
            # A crawl that was started here stays here, whatever database the fleet has.
            job = find_job(self._home.store, name)
        return self.of(job), job

    @property
    def exist(self) -> bool:
        """Whether a database with jobs can exist."""
        return self._has_home or (self._fleet is not None and self._settings.database_url is not None)

    async def close(self) -> None:
        if fleet := self.__dict__.get("_fleet"):
            await fleet.close()
        if home := self.__dict__.get("_home"):
            home.close()

    @cached_property
    def _fleet(self) -> Fleet | None:
        if self._settings.redis_url is None:
            return None
        if self._settings.database_url is None:
            home_database(self._settings)
        # Imported here: most commands need no Redis client.
        from shoal.fleet.fleet import Fleet

        return Fleet(self._settings)

    @cached_property
    def _home(self) -> Home:
        home_database(self._settings)
        return Home(self._settings.home, self._settings.archive_url, self._settings.spool_bytes)

    @property
    def _has_home(self) -> bool:
        return _has_database(self._settings.home)


def home_database(settings: Settings) -> Path:
    """Raises UsageError if there is none."""
    if not _has_database(settings.home):
        begin = "submit" if settings.redis_url else "crawl"
        raise UsageError(
            f"there is no home at {settings.home} yet: `shoal {begin} URL` creates one, --home chooses another"
        )
    return settings.home / DATABASE


def _has_database(home: Path) -> bool:
    """Raises HomeError if the home is not a folder, or cannot be read."""
    try:
        (home / DATABASE).stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unusable_home(home, error) from error
    return True
