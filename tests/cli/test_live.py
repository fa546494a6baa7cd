from __future__ import annotations

from shoal.cli.live import Pulse
from shoal.model import Figures

BLOCKED = "waiting: 127.0.1.3:8800 is in backoff for 86390 s (retry-after)"
FIGURES = Figures(found=96, queued=6, pages=90)


def test_while_nothing_is_fetched_the_reason_stands_within_80_columns() -> None:
    pulse = Pulse("127.0.1.3:8800", items=12)
    pulse.errors.update({"protocol": 35, "too_large": 12, "undecodable": 9})
    line = pulse.beat(FIGURES, BLOCKED)
    assert "90/96" in line[:79] and "is in backoff for 86390 s (retry" in line[:79]
    assert BLOCKED in line
    assert line.index("queue 6") < line.index("err 56 (protocol x35")


def test_the_kinds_of_errors_come_last() -> None:
    pulse = Pulse("127.0.1.3:8800")
    pulse.errors.update({"protocol": 35, "too_large": 12, "undecodable": 9})
    pulse.beat(Figures(found=96, queued=96))
    line = pulse.beat(FIGURES, "waiting: the rate of 127.0.1.3:8800")
    assert "queue 6" in line[:79] and "ETA" in line[:79] and "waiting: the rate" in line[:79]
    assert line.endswith("err 56 (protocol x35 too_large x12 undecodable x9)")
