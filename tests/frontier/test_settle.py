"""A frontier in one file takes links, answers and the ends of their leases in one step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.errors import FrontierLost
from shoal.frontier.contract import Caller, Terms
from shoal.frontier.sqlite import SqliteFrontier
from shoal.model import Completion, Landing, Lease, Offer, Outcome
from shoal.urls import Params, target

CALLER = Caller("worker")


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[SqliteFrontier]:
    made = SqliteFrontier(tmp_path / "frontier.db")
    yield made
    made.close()


def offer(*paths: str, job: str = "job") -> Offer:
    return Offer(job, [target(f"http://a.example/{path}", Params(), "host") for path in paths])


async def leased(frontier: SqliteFrontier) -> Lease:
    await frontier.open_job("job", Terms(gap_s=0, per_host=1))
    await frontier.offer(CALLER.next(), [offer("1")])
    (lease,) = await frontier.lease(CALLER.next(), 5)
    return lease


def ending(lease: Lease) -> tuple[list[Landing], list[Completion]]:
    return [Landing(lease.token, 0.1, 200, None)], [Completion(lease.token, Outcome.DONE, bytes=7)]


async def test_links_answer_and_end_of_a_page_are_taken_together(frontier: SqliteFrontier) -> None:
    lease = await leased(frontier)
    assert await frontier.settle(CALLER.next(), [offer("1", "2", "3")], *ending(lease)) == [True]
    figures = await frontier.figures("job")
    assert (figures.found, figures.queued, figures.leased, figures.pages) == (3, 2, 0, 1)
    # The landing has freed the only slot of the host.
    assert len(await frontier.lease(CALLER.next(), 5)) == 1


async def test_a_repeated_call_changes_nothing_and_gets_the_same_reply(frontier: SqliteFrontier) -> None:
    lease = await leased(frontier)
    call = CALLER.next()
    for _ in range(2):
        assert await frontier.settle(call, [offer("2")], *ending(lease)) == [True]
    assert await frontier.settle(CALLER.next(), [], *ending(lease)) == [False]
    figures = await frontier.figures("job")
    assert (figures.found, figures.pages) == (2, 1)


async def test_if_a_link_cannot_be_taken_the_lease_is_still_held(frontier: SqliteFrontier) -> None:
    lease = await leased(frontier)
    with pytest.raises(FrontierLost):
        await frontier.settle(CALLER.next(), [offer("2"), offer("3", job="unknown")], *ending(lease))
    figures = await frontier.figures("job")
    assert (figures.found, figures.leased, figures.pages) == (1, 1, 0)
    assert await frontier.settle(CALLER.next(), [offer("2")], *ending(lease)) == [True]
