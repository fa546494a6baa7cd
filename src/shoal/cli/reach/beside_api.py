"""Jobs behind an API, beside those that were crawled here, which are found by their whole ids: crawls print them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.cli.reach import ReachedJob
from shoal.cli.reach.api_jobs import ApiJobs
from shoal.client import Client
from shoal.errors import HomeError, UnknownJob
from shoal.jobs.job_id import is_job_id

if TYPE_CHECKING:
    from shoal.cli.reach.own_jobs import OwnJob
    from shoal.cli.session import Session


class JobsBesideApi(ApiJobs):
    def __init__(self, session: Session, client: Client, opened: ExitStack) -> None:
        super().__init__(client)
        self._session = session
        self._opened = opened
        """Closed by whoever made it."""

    def find(self, name: str) -> ReachedJob:
        return self._crawled_here(name) or super().find(name)

    def _crawled_here(self, name: str) -> OwnJob | None:
        home = replace(self._session.settings, redis_url=None, database_url=None)
        if not is_job_id(name) or not home.home.exists():
            return None
        # Only here: where there is no home, nothing of one need be loaded.
        from shoal.cli.reach.own_jobs import OwnJob

        places = self._opened.enter_context(self._session.open_places(home))
        try:
            found = OwnJob(self._session, places, name) if places.exist else None
        except (UnknownJob, HomeError):
            return None
        return found if found is not None and not found.job.fleet else None
