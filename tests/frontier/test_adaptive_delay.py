"""The host clock's arithmetic, as tables."""

from __future__ import annotations

from shoal.frontier.adaptive_delay import BLOCK_MAX_S, Pace, gap_of, learn, slowdown_at
from shoal.model import Landing


def answers(pace: Pace, now: float, latencies: list[float], rate: float = 2.0) -> float:
    """Answers as they come at the pace itself; gives the time after the last."""
    for latency_s in latencies:
        now += max(gap_of(1 / rate, pace.slowdown, 0), latency_s)
        learn(pace, Landing(1, latency_s, 200), now)
    return now


def test_tenfold_latency_halves_the_rate_within_twenty_requests() -> None:
    for usual_s in (0.02, 0.2, 1.0):
        pace = Pace()
        now = answers(pace, 1000.0, [usual_s] * 30)
        assert pace.slowdown == 1.0
        answers(pace, now, [usual_s * 10] * 20)
        assert pace.slowdown >= 2.0


def test_the_rate_recovers_within_sixty_seconds_and_never_exceeds_what_was_asked() -> None:
    pace = Pace()
    now = answers(pace, 1000.0, [0.05] * 30)
    now = answers(pace, now, [0.5] * 40)
    quick_again_at = now
    while pace.slowdown > 1.0:
        now = answers(pace, now, [0.05])
    assert now - quick_again_at < 60
    answers(pace, now, [0.001] * 50)
    assert gap_of(0.5, pace.slowdown, 0) >= 0.5


def test_a_site_of_mixed_latencies_keeps_its_rate() -> None:
    pace = Pace()
    now = 1000.0
    for _ in range(200):
        now = answers(pace, now, [0.02, 0.15, 0.02, 0.3])
    assert pace.slowdown < 1.5


def test_a_host_that_stays_slow_is_believed_in_the_end() -> None:
    pace = Pace()
    now = answers(pace, 1000.0, [0.05] * 30)
    answers(pace, now, [0.5] * 3000)
    assert pace.slowdown == 1.0


def test_blocks_double_up_to_a_day_and_a_success_forgives() -> None:
    pace, now, lengths = Pace(), 1000.0, []
    for _ in range(14):
        for _ in range(10):
            learn(pace, Landing(1, 0.1, 503), now)
        lengths.append(pace.block_until - now)
        now = pace.block_until + 1
    assert lengths[:3] == [60, 120, 240]
    assert lengths[-1] == BLOCK_MAX_S
    learn(pace, Landing(1, 0.1, 200), now)
    assert (pace.fails, pace.blocks) == (0, 0)


def test_a_timeout_is_slow_but_no_refusal() -> None:
    pace = Pace()
    now = answers(pace, 1000.0, [0.1] * 30)
    for _ in range(9):
        learn(pace, Landing(1, 45.0, None, "timeout"), now := now + 45)
    assert pace.fails == 0
    assert pace.slowdown > 2


def test_a_host_left_alone_for_a_minute_is_forgiven() -> None:
    pace = Pace()
    for _ in range(4):
        learn(pace, Landing(1, 0.1, 503), 1000.0)
    assert slowdown_at(1050.0, pace.slowdown, pace.learnt_at) == 16
    assert slowdown_at(1061.0, pace.slowdown, pace.learnt_at) == 1


def test_crawl_delay_is_a_floor() -> None:
    assert gap_of(0.5, 1.0, 10.0) >= 10.0
    assert gap_of(0.0, 16.0, 0.0) == 0.0


def test_delays_of_our_own_process_do_not_slow_a_host_down() -> None:
    pace, now = Pace(), 1000.0
    for latency_s in [0.002] * 30 + [2.0] * 30:
        learn(pace, Landing(1, latency_s, 200, network_s=0.002), now := now + 2)
    assert pace.slowdown == 1.0 and pace.recent_s < 0.003
