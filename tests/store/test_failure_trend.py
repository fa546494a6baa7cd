"""The trend of failures: bounded, and the same failures however they are added up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.store.failure_trend import MOST_PERIODS, FailureTrend, merged, trend_of_times

TIMES = st.lists(st.floats(0, 2e9), min_size=1, max_size=50)


@given(TIMES, TIMES)
def test_a_trend_is_bounded_and_counts_every_failure(some: list[float], others: list[float]) -> None:
    both = merged([trend_of_times(some), trend_of_times(others)])
    assert both == trend_of_times([*some, *others])
    assert sum(both.counts) == len(some) + len(others) and len(both.counts) <= MOST_PERIODS
    assert both.at <= min(*some, *others) and max(*some, *others) < both.at + len(both.counts) * both.seconds
    assert FailureTrend.of_text(both.text) == FailureTrend.of_record(both.record) == both


@given(TIMES, st.integers(1, 30))
def test_a_trend_spreads_its_failures_over_the_time_of_the_job(times: list[float], parts: int) -> None:
    trend = trend_of_times(times)
    whole = trend.spread(trend.at, trend.at + len(trend.counts) * trend.seconds, parts)
    assert len(whole) == parts and sum(whole) == pytest.approx(len(times))
    assert sum(trend.spread(min(times), max(times), parts)) == pytest.approx(len(times)) or min(times) == max(times)


def test_failures_of_a_short_while_stand_where_they_happened() -> None:
    assert trend_of_times([40.0, 41.0, 95.0]).spread(0.0, 100.0, 5) == [0.0, 0.0, 2.0, 0.0, 1.0]
