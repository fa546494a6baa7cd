from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shoal.errors import UsageError
from shoal.fleet.cron import MOST_COUNTED, Cron


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()


def test_ticks_are_in_the_time_zone() -> None:
    cron = Cron("30 4 * * *", "Europe/Berlin")
    assert cron.after(at(2026, 7, 1)) == at(2026, 7, 1, 2, 30)
    assert cron.after(at(2026, 12, 1)) == at(2026, 12, 1, 3, 30)


def test_the_last_tick_may_be_this_very_second() -> None:
    cron = Cron("0 * * * *", "UTC")
    assert cron.last(at(2026, 7, 1, 5)) == at(2026, 7, 1, 5)
    assert cron.last(at(2026, 7, 1, 5) - 0.5) == at(2026, 7, 1, 4)
    assert cron.after(at(2026, 7, 1, 5)) == at(2026, 7, 1, 6)


def test_a_skipped_or_repeated_hour_has_one_tick() -> None:
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
    ("nickname", "next_tick"),
    [
        ("@hourly", at(2026, 7, 1, 6)),
        ("@daily", at(2026, 7, 2)),
        (" @MIDNIGHT ", at(2026, 7, 2)),
        ("@weekly", at(2026, 7, 5)),
        ("@monthly", at(2026, 8, 1)),
        ("@yearly", at(2027, 1, 1)),
        ("@annually", at(2027, 1, 1)),
    ],
)
def test_nicknames_of_cron_stand_for_their_fields(nickname: str, next_tick: float) -> None:
    cron = Cron(nickname, "UTC")
    assert cron.after(at(2026, 7, 1, 5, 30)) == next_tick
    assert cron.next_runs(at(2026, 7, 1, 5, 30), 1)[0].timestamp() == next_tick


@pytest.mark.parametrize(
    ("expression", "zone"),
    [
        ("* * * *", "UTC"),
        ("@reboot", "UTC"),
        ("* * * * * *", "UTC"),
        ("61 * * * *", "UTC"),
        (f"{'9' * 5000} * * * *", "UTC"),
        ("0 0 31 2 *", "UTC"),
        ("* * * * *", "Mars/Olympus"),
        ("* * * * *", "../../etc/passwd"),
        ("* * * * *", "\0"),
    ],
)
def test_an_invalid_cron_expression_or_zone_is_refused(expression: str, zone: str) -> None:
    with pytest.raises(UsageError):
        Cron(expression, zone)
