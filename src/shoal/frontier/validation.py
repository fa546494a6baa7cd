"""Checks every number that a caller passes to a frontier, before anything changes.

All jobs share the clocks of a frontier, so one number that is not finite, or absurdly large, would harm jobs that
have nothing to do with it. `frontier/redis/lua` checks the same again.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import UsageError
from shoal.frontier.contract import Terms
from shoal.model import Completion, Landing
from shoal.model.options import MAX_GAP_S, RATE, bound_of

MOST_SECONDS = 1e8
"""Three years: longer than any wait."""
MOST_CHARGED = 1_000_000
MOST_HOST_TERMS = 500
"""Hosts with terms of their own: Redis reads those of a job in most calls."""
MOST = 10**15
FURTHEST = 1e12
"""The latest time, in seconds since the epoch."""


def check_terms(terms: Terms) -> None:
    _check("gap_s", terms.gap_s, 0, MAX_GAP_S)
    for name, number in (("per_host", terms.per_host), ("priority", terms.priority)):
        _check(name, number, bound_of(name).least, bound_of(name).most)
    _check("the number of hosts with terms of their own", len(terms.hosts), 0, MOST_HOST_TERMS)
    for own in terms.hosts:
        _check("gap_s", own.gap_s, 0, MAX_GAP_S)
        _check("per_host", own.per_host, bound_of("per_host").least, bound_of("per_host").most)
    limits = {"pages": terms.pages, "pages_per_host": terms.pages_per_host, "bytes": terms.bytes}
    limits |= {"cost": terms.cost, "spent": terms.spent, "assets": terms.assets}
    for name, value in limits.items():
        _check(name, value, 0, MOST)
    _check("stop_at", terms.stop_at, -FURTHEST, FURTHEST)


def check_landings(landings: Sequence[Landing]) -> None:
    for landing in landings:
        _check("latency_s", landing.latency_s, 0, MOST_SECONDS)
        _check("network_s", landing.host_s, 0, MOST_SECONDS)
        _check("late_s", landing.late_s, 0, MOST_SECONDS)
        _check("charged", landing.charged, 0, MOST_CHARGED)
        _check("retry_after_s", landing.retry_after_s, 0, MOST)


def check_completions(completions: Sequence[Completion]) -> None:
    for completion in completions:
        _check("delay_s", completion.delay_s, 0, MOST_SECONDS)
        _check("bytes", completion.bytes, 0, MOST)
        _check("cost", completion.cost, 0, MOST)


def check_seconds(name: str, seconds: float) -> None:
    _check(name, seconds, 0, MOST_SECONDS)


def check_rate(rate: float | None) -> None:
    """Checks an operator's rate for one host."""
    _check("rate", rate, RATE.least, RATE.most)


def _check(name: str, value: float | None, least: float, most: float) -> None:
    # NaN compares false with everything, so it is outside every range.
    if value is not None and not least <= value <= most:
        raise UsageError(f"{name} cannot be {value!r}: give a number from {least:g} to {most:g}")
