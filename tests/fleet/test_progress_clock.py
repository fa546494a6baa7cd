"""Since when a process is silent: what the watchdog kills by."""

from __future__ import annotations

from shoal.fleet.progress_clock import ProgressClock


def test_a_process_that_was_idle_for_long_is_not_silent_when_it_gets_work() -> None:
    clock = ProgressClock(now=0.0)
    assert clock.at(3600.0, engine_at=1.0, may_wait=True) == 3600.0
    assert clock.at(3600.25, engine_at=1.0, may_wait=False) == 3600.0


def test_a_process_with_work_is_silent_from_its_last_progress_on() -> None:
    clock = ProgressClock(now=0.0)
    clock.at(10.0, engine_at=1.0, may_wait=True)
    assert clock.at(20.0, engine_at=15.0, may_wait=False) == 15.0
    assert clock.at(90.0, engine_at=15.0, may_wait=False) == 15.0
