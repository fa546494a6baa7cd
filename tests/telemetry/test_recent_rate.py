from __future__ import annotations

from shoal.telemetry.recent_rate import RecentRate


def test_the_rate_is_that_of_the_last_ten_seconds_or_since_the_start() -> None:
    rate = RecentRate(100.0)
    assert rate.per_s(100.0, 0) == 0.0
    assert rate.per_s(102.0, 6) == 3.0
    # Asked twice between two counts.
    assert rate.per_s(102.0, 6) == 3.0
    for at in range(104, 132, 2):
        last = rate.per_s(float(at), 6 + 20 * (at - 102))
    assert last == 20.0
    assert rate.per_s(150.0, 566 + 50) == 2.5
    assert rate.per_s(160.0, 566 + 50) == 0.0


def test_what_was_counted_before_the_first_look_is_no_rate() -> None:
    rate = RecentRate(100.0, 5_000)
    assert rate.per_s(100.0, 5_000) == 0.0
    assert rate.per_s(102.0, 5_006) == 3.0
