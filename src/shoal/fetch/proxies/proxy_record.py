"""How well one proxy works: at all hosts, or at one of them. A proxy that fails cools down, longer each time."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

FIRST_COOL_S = 5.0
MOST_COOL_S = 600.0
_FORGET = 0.95
"""Each result takes a twentieth of the weight of those before it, so that a proxy that changes is noticed."""
LATENCIES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
"""Upper bounds of the classes of latency. There is one more class, for all above."""


@dataclass(slots=True)
class Figures:
    """Counts, which can be added up over processes."""

    requests: int = 0
    successes: int = 0
    failures: int = 0
    blocks: int = 0
    bytes: int = 0
    cost: float = 0.0
    latencies: list[int] = field(default_factory=lambda: [0] * (len(LATENCIES_S) + 1))

    def add(self, other: Figures) -> None:
        self.requests += other.requests
        self.successes += other.successes
        self.failures += other.failures
        self.blocks += other.blocks
        self.bytes += other.bytes
        self.cost += other.cost
        self.latencies = [mine + theirs for mine, theirs in zip(self.latencies, other.latencies, strict=True)]

    def latency_s(self, share: float) -> float | None:
        """The latency that this share of the successes stayed below, by the upper bound of its class."""
        wanted, seen = share * sum(self.latencies), 0
        if not wanted:
            return None
        for bound_s, n in zip(LATENCIES_S, self.latencies, strict=False):
            seen += n
            if seen >= wanted:
                return bound_s
        return 2 * LATENCIES_S[-1]


@dataclass(slots=True)
class ProxyRecord:
    good: float = 0.0
    """Recent successes and failures, the older the lighter."""
    bad: float = 0.0
    latency_s: float = 0.0
    in_a_row: int = 0
    """Failures since the last success."""
    cool_until: float = 0.0
    reason: str = ""
    is_probed: bool = False
    """A request finds out whether it works again. Meanwhile no other uses it."""
    in_flight: int = 0
    next_at: float = 0.0
    fresh: Figures = field(default_factory=Figures)
    """What happened since `take_fresh`."""
    is_changed: bool = False

    def is_usable(self, now: float) -> bool:
        return not self.in_a_row or (self.cool_until <= now and not self.is_probed)

    @property
    def is_cooled(self) -> bool:
        """It failed last, and cools down or is probed next."""
        return bool(self.in_a_row and self.cool_until)

    @property
    def score(self) -> float:
        """Success counts more than speed: a failure costs a whole request."""
        share = (self.good + 1) / (self.good + self.bad + 2)
        return share * share / (0.1 + self.latency_s)

    def succeed(self, latency_s: float, size: int, cost: float) -> None:
        self._count(size, cost)
        self.fresh.successes += 1
        self.fresh.latencies[bisect_left(LATENCIES_S, latency_s)] += 1
        self.latency_s += (latency_s - self.latency_s) * (0.2 if self.good else 1.0)
        self.good, self.bad = _FORGET * self.good + 1, _FORGET * self.bad
        self.warm_up()

    def fail(self, cost: float, is_block: bool = False) -> None:
        self._count(0, cost)
        self.fresh.failures += not is_block
        self.fresh.blocks += is_block
        self.good, self.bad = _FORGET * self.good, _FORGET * self.bad + 1
        self.in_a_row += 1

    def cool(self, now: float, reason: str) -> None:
        """Each failure in a row doubles the time."""
        wait_s = FIRST_COOL_S * 2.0 ** min(self.in_a_row - 1, 20)
        self.cool_until, self.reason = now + min(wait_s, MOST_COOL_S), reason
        self.is_probed, self.is_changed = False, True

    def warm_up(self) -> None:
        self.is_changed = True
        self.in_a_row, self.cool_until, self.reason, self.is_probed = 0, 0.0, "", False

    def charge(self, size: int, cost: float) -> None:
        """Counts an answer that says nothing about the proxy."""
        self.is_changed = True
        self.fresh.bytes += size
        self.fresh.cost += cost

    def take_fresh(self) -> Figures:
        fresh, self.fresh, self.is_changed = self.fresh, Figures(), False
        return fresh

    def _count(self, size: int, cost: float) -> None:
        self.fresh.requests += 1
        self.charge(size, cost)
