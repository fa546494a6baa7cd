from __future__ import annotations

import dataclasses

import pytest

from shoal import __version__
from shoal.engine.job_finish import final_state
from shoal.model import MOST_NOFOLLOW_PAGES, Figures, JobSpec, JobState, Limits, Politeness, reached, reached_limit


def test_what_was_set_aside_for_a_job_is_in_its_record() -> None:
    polite = JobSpec("polite", politeness=Politeness(rate=2), agent=f"shoal/{__version__} (+https://example.com/bot)")
    assert polite.overrides == []
    ruthless = Politeness(rate=0, robots=False)
    rude = JobSpec("rude", politeness=ruthless, allow_private=True, headers={"user-agent": "Mozilla/5.0"})
    assert rude.overrides == ["ignore_robots", "allow_private", "rate_0", "user_agent"]


def test_a_job_is_the_same_when_it_was_written_down() -> None:
    limits, politeness = Limits(pages=10, seconds=1.5), Politeness(rate=0.5, per_host=3)
    spec = JobSpec("books", limits=limits, politeness=politeness, include=("*/books/*",), headers={"A": "b"})
    assert JobSpec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize("limit", [field.name for field in dataclasses.fields(Limits)])
def test_which_limit_ended_a_job_can_be_read_from_its_reason(limit: str) -> None:
    state, reason = final_state(limit, JobSpec("any"), Figures(pages=1))
    assert (state, reason) == (JobState.LIMITED, reached(limit))
    assert reached_limit(f"{reason}; the remaining requests wait: a.example backs off") == limit


def test_the_end_of_a_crawl_that_ignores_nofollow_says_where_its_limit_comes_from() -> None:
    own, bold = Limits(pages_per_host=MOST_NOFOLLOW_PAGES), Politeness(nofollow=False)
    _, reason = final_state("pages_per_host", JobSpec("any", limits=own, politeness=bold), Figures(pages=1))
    assert reason == f"{reached('pages_per_host')}: 10,000 with --ignore-nofollow, unless you give another"
    assert reached_limit(reason) == "pages_per_host"


@pytest.mark.parametrize("rest", ["empty", "cancelled"])
def test_no_limit_is_read_from_the_reason_of_another_end(rest: str) -> None:
    assert reached_limit(final_state(rest, JobSpec("any"), Figures())[1]) is None
