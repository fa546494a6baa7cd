"""The jobs that a process of a fleet works on: what is put away, or could not be taken up, leaves nothing behind."""

from __future__ import annotations

import pytest

from shoal.engine.active_job import ActiveJob, JobResources
from shoal.engine.active_jobs import ActiveJobs
from shoal.errors import UsageError
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.model import JobSpec, Lease, Trail
from tests.frontier.conftest import target


class Loadable:
    """A source of jobs, of which those called `bad` cannot be loaded."""

    def __init__(self) -> None:
        self.fetcher = Fetcher("tests", AddressGuard())
        self.retired: list[str] = []

    async def load(self, job: str) -> ActiveJob:
        if job.startswith("bad"):
            raise UsageError(f"{job} has no spider")
        return ActiveJob(job, JobSpec(job), 0.0, [], [], JobResources(self.fetcher))

    async def reload(self, active_job: ActiveJob) -> None: ...

    async def reload_learnt(self, active_job: ActiveJob) -> None: ...

    async def unload(self, active_job: ActiveJob) -> None:
        self.retired.append(active_job.id)


def lease(job: str) -> Lease:
    return Lease(1, job, target("http://a/"), Trail(), 0, 0, 0.0, 0.0, False, 0)


async def test_nothing_is_remembered_of_jobs_that_are_over() -> None:
    source = Loadable()
    active_jobs = ActiveJobs(source)
    before = sizes(active_jobs)
    active_jobs.hold([lease("good"), lease("good"), lease("bad")])
    await active_jobs.make_current(lease("good"))
    with pytest.raises(UsageError, match="bad has no spider"):
        await active_jobs.make_current(lease("bad"))
    active_jobs.let_go("bad")
    active_jobs.let_go("good")
    await active_jobs.unload_idle(0.0)
    assert len(active_jobs) == 1
    active_jobs.let_go("good")
    await active_jobs.unload_idle(0.0)
    assert source.retired == ["good"]
    assert sizes(active_jobs) == before
    await source.fetcher.aclose()


def sizes(active_jobs: ActiveJobs) -> list[int]:
    return [len(memory) for memory in vars(active_jobs).values() if isinstance(memory, dict)]
