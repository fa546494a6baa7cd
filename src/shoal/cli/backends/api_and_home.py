"""Jobs behind an API, and jobs of the local home, which are found only by their full id."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.cli.backends import JobHandle
from shoal.cli.backends.api_jobs import ApiJobs
from shoal.client import Client
from shoal.errors import HomeError, UnknownJob
from shoal.jobs.job_id import is_job_id

if TYPE_CHECKING:
    from shoal.cli.backends.local_jobs import LocalJob
    from shoal.cli.session import Session


class ApiAndHomeJobs(ApiJobs):
    def __init__(self, session: Session, client: Client, opened: ExitStack) -> None:
        super().__init__(client)
        self._session = session
        self._opened = opened
        """The caller closes it."""

    def find(self, name: str) -> JobHandle:
        return self._job_of_home(name) or super().find(name)

    def _job_of_home(self, name: str) -> LocalJob | None:
        home = replace(self._session.settings, redis_url=None, database_url=None)
        if not is_job_id(name) or not home.home.exists():
            return None
        # Imported here: without a home its modules are not needed.
        from shoal.cli.backends.local_jobs import LocalJob

        places = self._opened.enter_context(self._session.open_places(home))
        try:
            found = LocalJob(self._session, places, name) if places.exist else None
        except (UnknownJob, HomeError):
            return None
        return found if found is not None and not found.job.fleet else None
