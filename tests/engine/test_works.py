"""The jobs that a process of a fleet works on: what is put away, or could not be taken up, leaves nothing behind."""

from __future__ import annotations

import pytest

from shoal.engine.work import Work
from shoal.engine.works import Works
from shoal.errors import UsageError
from shoal.fetch.curl import Fetcher
from shoal.fetch.guard import Guard
from shoal.model import JobSpec, Lease, Trail
from tests.frontier.conftest import target


class Loadable:
    """A source of jobs, of which those called `bad` cannot be loaded."""

    def __init__(self) -> None:
        self.fetcher = Fetcher("tests", Guard())
        self.retired: list[str] = []

    async def take_up(self, job: str) -> Work:
        if job.startswith("bad"):
            raise UsageError(f"{job} has no spider")
        return Work(job, JobSpec(job), 0.0, [], [], self.fetcher)

    async def renew(self, work: Work) -> None: ...

    async def retire(self, work: Work) -> None:
        self.retired.append(work.job)


def lease(job: str) -> Lease:
    return Lease(1, job, target("http://a/"), Trail(), 0, 0, 0.0, 0.0, False, 0)


async def test_nothing_is_remembered_of_jobs_that_are_over() -> None:
    source = Loadable()
    works = Works(source)
    before = sizes(works)
    works.hold([lease("good"), lease("good"), lease("bad")])
    await works.make_current(lease("good"))
    with pytest.raises(UsageError, match="bad has no spider"):
        await works.make_current(lease("bad"))
    works.let_go("bad")
    works.let_go("good")
    await works.retire(0.0)
    assert len(works) == 1
    works.let_go("good")
    await works.retire(0.0)
    assert source.retired == ["good"]
    assert sizes(works) == before
    await source.fetcher.aclose()


def sizes(works: Works) -> list[int]:
    return [len(memory) for memory in vars(works).values() if isinstance(memory, dict)]
