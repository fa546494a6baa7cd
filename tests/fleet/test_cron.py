from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shoal.errors import UsageError
from shoal.fleet.cron import MOST_COUNTED, Cron


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()


def test_ticks_are_those_of_the_zone() -> None:
    cron = Cron("30 4 * * *", "Europe/Berlin")
    assert cron.after(at(2026, 7, 1)) == at(2026, 7, 1, 2, 30)
    assert cron.after(at(2026, 12, 1)) == at(2026, 12, 1, 3, 30)


def test_the_last_tick_may_be_this_very_second() -> None:
    cron = Cron("0 * * * *", "UTC")
    assert cron.last(at(2026, 7, 1, 5)) == at(2026, 7, 1, 5)
    assert cron.last(at(2026, 7, 1, 5) - 0.5) == at(2026, 7, 1, 4)
    assert cron.after(at(2026, 7, 1, 5)) == at(2026, 7, 1, 6)


def test_an_hour_that_is_left_out_or_comes_twice_has_one_tick() -> None:
    cron = Cron("30 2 * * *", "Europe/Berlin")
    spring = cron.after(at(2026, 3, 28, 12))
    assert spring == at(2026, 3, 29, 1), "03:00 summer time, when the hour from two to three is over at once"
    assert cron.after(spring) == at(2026, 3, 30, 0, 30)
    autumn = cron.after(at(2026, 10, 24, 12))
    assert cron.after(autumn) == at(2026, 10, 26, 1, 30)


def test_ticks_are_counted_up_to_a_bound() -> None:
    cron = Cron("* * * * *", "UTC")
    assert cron.count(at(2026, 1, 1), at(2026, 1, 1, 0, 3)) == 4
    assert cron.count(at(2026, 1, 1), at(2026, 12, 1)) == MOST_COUNTED


@pytest.mark.parametrize(
    ("expression", "zone"),
    [
        ("* * * *", "UTC"),
        ("* * * * * *", "UTC"),
        ("61 * * * *", "UTC"),
        (f"{'9' * 5000} * * * *", "UTC"),
        ("0 0 31 2 *", "UTC"),
        ("* * * * *", "Mars/Olympus"),
        ("* * * * *", "../../etc/passwd"),
        ("* * * * *", "\0"),
    ],
)
def test_what_cannot_be_a_tick_is_refused(expression: str, zone: str) -> None:
    with pytest.raises(UsageError):
        Cron(expression, zone)
