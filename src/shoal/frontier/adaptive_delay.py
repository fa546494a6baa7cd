"""How a host's clock adapts: slow answers lengthen its gap, errors lengthen it more, refusals block it.

This is pure arithmetic, so that one set of tables tests both the SQLite frontier and the Lua of the Redis one.
A host's gap is its job's gap times `slowdown` (1 to 16), and never less than the crawl-delay.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.model import Landing

GAP_MARGIN = 1.02
"""Starts are planned this much further apart than the job asks, because they jitter on their way to the host."""
SLOW_FACTOR = 3.2
"""Answers this many times slower than usual count as slow: the geometric mean of 1 and 10."""
LATENCY_FLOOR_S = 0.015
"""Below this, a multiple of the usual latency is noise: of our own process, or of a host on the same busy machine."""
RECENT_WEIGHT = 0.3
STRETCH = 1.15
LATENCY_SLOWDOWN_MAX = 4.0
ERROR_STRETCH = 2.0
SLOWDOWN_MAX = 16.0
RECOVERY_HALF_LIFE_S = 8.0
"""While answers are quick the slowdown halves every 8 s: from 16 to 1 in 32 s, whatever the rate."""
FORGIVEN_AFTER_S = 60.0
"""After this long without an answer, a host starts again without a slowdown."""
WARM_UP = 20
"""The usual latency is the mean of this many answers; after them it follows the median."""
USUAL_DOUBLES_S = 300.0
"""The usual latency of a host that stays slow may double in this time."""
FAILS_TO_BLOCK = 10
BLOCK_S = 60.0
BLOCK_MAX_S = 86_400.0
UNREACHABLE_AFTER_S = 15.0
UNREACHABLE_FAILURES = 2
"""A host that has never answered a job is tried for this long, and at least this many times."""

HOST_FAILURES = frozenset({"dns", "connect", "tls"})
HOST_REFUSALS = frozenset({429, 503})


@dataclass(slots=True)
class Pace:
    slowdown: float = 1.0
    usual_s: float = 0.0
    recent_s: float = 0.0
    answers: int = 0
    learnt_at: float = 0.0
    fails: int = 0
    blocks: int = 0
    block_until: float = 0.0
    block_reason: str = ""


def gap_of(gap_s: float, slowdown: float, crawl_delay_s: float) -> float:
    return max(gap_s * slowdown, crawl_delay_s) * GAP_MARGIN


def slowdown_at(now: float, slowdown: float, learnt_at: float) -> float:
    return slowdown if now - learnt_at < FORGIVEN_AFTER_S else 1.0


def learn(pace: Pace, landing: Landing, now: float, *, may_block: bool = True) -> None:
    """Updates the pace with one landing. A host that never answered is not blocked: it is given up on sooner."""
    elapsed_s = max(0.0, now - pace.learnt_at) if pace.learnt_at else 0.0
    pace.slowdown = slowdown_at(now, pace.slowdown, pace.learnt_at)
    pace.learnt_at = now
    if landing.status in HOST_REFUSALS or landing.failure in HOST_FAILURES:
        _learn_refusal(pace, landing, now, may_block)
        return
    if landing.answered:
        pace.fails = pace.blocks = 0
    pace.recent_s += RECENT_WEIGHT * (landing.host_s - pace.recent_s) if pace.answers else landing.host_s
    if pace.answers and pace.recent_s > SLOW_FACTOR * max(pace.usual_s, LATENCY_FLOOR_S):
        pace.slowdown = max(pace.slowdown, min(pace.slowdown * STRETCH, LATENCY_SLOWDOWN_MAX))
    else:
        pace.slowdown = max(1.0, pace.slowdown * 0.5 ** (elapsed_s / RECOVERY_HALF_LIFE_S))
    _learn_usual(pace, landing.host_s, elapsed_s)


def _learn_usual(pace: Pace, latency_s: float, elapsed_s: float) -> None:
    """Follows the median by a step of fixed size towards each answer. The step grows with time, not with requests, so
    that twenty slow answers in one second do not become the usual latency."""
    if pace.answers < WARM_UP:
        pace.answers += 1
        pace.usual_s += (latency_s - pace.usual_s) / pace.answers
        return
    step = 2 ** (min(elapsed_s, 30.0) / USUAL_DOUBLES_S)
    pace.usual_s = pace.usual_s * step if latency_s > pace.usual_s else pace.usual_s / step


def _learn_refusal(pace: Pace, landing: Landing, now: float, may_block: bool) -> None:
    pace.slowdown = min(pace.slowdown * ERROR_STRETCH, SLOWDOWN_MAX)
    _count_failure(pace, landing, now, may_block)
    if landing.retry_after_s is not None:
        _block(pace, now + min(landing.retry_after_s, BLOCK_MAX_S), "retry-after")


def _count_failure(pace: Pace, landing: Landing, now: float, may_block: bool) -> None:
    pace.fails += 1
    if may_block and pace.fails >= FAILS_TO_BLOCK:
        why = f"status {landing.status}" if landing.status else f"{landing.failure} failures"
        _block(pace, now + min(BLOCK_S * 2**pace.blocks, BLOCK_MAX_S), f"{FAILS_TO_BLOCK} x {why}")
        pace.blocks += 1
        pace.fails = 0


def _block(pace: Pace, until: float, reason: str) -> None:
    if until > pace.block_until:
        pace.block_until = until
        pace.block_reason = reason
