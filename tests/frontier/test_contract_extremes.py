"""Numbers at the ends of what a machine can hold are refused before anything is changed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from shoal.errors import UsageError
from shoal.frontier.contract import Terms
from shoal.model import Completion, Landing, Outcome
from tests.frontier.conftest import Bench, urls

ABSURD = [math.inf, -math.inf, math.nan, 1e300, -1e300, -1.0]


@pytest.mark.parametrize("number", ABSURD)
@pytest.mark.parametrize("term", ["gap_s", "per_host", "pages", "bytes", "pages_per_host", "cost", "spent"])
async def test_terms_out_of_bounds_are_refused(bench: Bench, term: str, number: float) -> None:
    await bench.job()
    await bench.offer(*urls("a.test", 5))
    changed: Any = {term: number}
    terms = Terms()._replace(**changed)
    for call in (bench.frontier.open_job, bench.frontier.change):
        with pytest.raises(UsageError, match=term):
            await call("job", terms)
    with pytest.raises(UsageError):
        await bench.frontier.open_job("another", terms)
    assert len(await bench.lease()) == 1
    await bench.assert_balanced()


@pytest.mark.parametrize("number", ABSURD)
async def test_what_ends_a_lease_is_refused_whole(bench: Bench, number: float) -> None:
    await bench.job(gap_s=0.0)
    await bench.offer(*urls("a.test", 2))
    one, other = await bench.lease()
    good, bad = Landing(one.token, 0.1, 200), Landing(other.token, number, 200)
    ends: list[Any] = [Completion(one.token, Outcome.DONE), Completion(other.token, Outcome.RETRY, delay_s=number)]
    for call in (
        bench.frontier.landed(bench.caller.next(), [good, bad]),
        bench.frontier.landed(bench.caller.next(), [good, replace(bad, latency_s=0.1, late_s=number)]),
        bench.frontier.landed(bench.caller.next(), [good, replace(bad, latency_s=0.1, charged=number)]),  # type: ignore[arg-type]
        bench.frontier.complete(bench.caller.next(), ends),
        bench.frontier.release(bench.caller.next(), [one.token], number),
        bench.frontier.record_robots_answer("job", "a.test", number),
        bench.frontier.override("a.test", rate=number, paused=False),
        bench.frontier.lease(bench.caller.next(), 1, horizon_s=number),
    ):
        with pytest.raises(UsageError):
            await call
    figures = await bench.frontier.figures("job")
    assert (figures.leased, figures.pages, figures.queued) == (2, 0, 0)
    host = await bench.frontier.host("a.test")
    assert host is not None and host.in_flight == 2


async def test_the_slowest_rate_and_the_quickest_are_both_served(bench: Bench) -> None:
    await bench.job("slowest", gap_s=10_000.0, priority=-(10**6))
    await bench.job("quickest", gap_s=0.0001, priority=10**6, pages=10**15, bytes=10**15)
    await bench.offer(*urls("a.test", 40), job="slowest")
    await bench.offer(*urls("a.test", 40, start=40), job="quickest")
    for _ in range(60):
        await bench.fetch(await bench.lease())
        bench.clock.advance(1.0)
    assert (await bench.frontier.figures("quickest")).pages == 40
    assert (await bench.frontier.figures("slowest")).pages == 1
    for job in ("slowest", "quickest"):
        await bench.assert_balanced(job)
