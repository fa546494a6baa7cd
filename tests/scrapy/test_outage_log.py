"""An outage that several tasks meet is said once, and so is its end."""

from __future__ import annotations

import pytest

from shoal.errors import Unavailable
from shoal.scrapy.outage_log import OutageLog


def test_an_outage_is_said_once_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    outages, away = OutageLog(lambda: now[0]), Unavailable("Redis does not answer")
    caplog.set_level("INFO", "shoal.scrapy")
    outages.over("turn")
    for task in ("turn", "settle", "turn"):
        outages.waits(task, away)
    outages.waits("settle", Unavailable("the database is full"))
    now[0] += 12
    outages.over("turn")
    outages.over("turn")
    assert caplog.messages == ["waiting: Redis does not answer", "waiting: the database is full"]
    outages.over("settle")
    outages.waits("turn", away)
    assert caplog.messages[2:] == ["continues after waiting for 12 s", "waiting: Redis does not answer"]


def test_a_second_outage_is_said_while_another_task_still_waits(caplog: pytest.LogCaptureFixture) -> None:
    outages, away = OutageLog(lambda: 0.0), Unavailable("Redis does not answer")
    outages.waits("settle", Unavailable("the database is full"))
    outages.waits("turn", away)
    outages.over("turn")
    outages.waits("turn", away)
    assert caplog.messages[1:] == ["waiting: Redis does not answer"] * 2
