"""When the failures of a group happened: their number in each of a few periods, so that people see whether they grow.

A trend has at most MOST_PERIODS numbers, however long the job runs: when they would be more, each two neighbours become
one, and periods last twice as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from shoal.store.results.columns import iso_time

SHORTEST_S = 10
MOST_PERIODS = 48


@dataclass(frozen=True, slots=True)
class FailureTrend:
    at: int
    """When the first period began."""
    seconds: int
    """How long each period lasts."""
    counts: list[int]

    @property
    def text(self) -> str:
        """As a column of the store keeps it."""
        return f"{self.at} {self.seconds} {' '.join(map(str, self.counts))}"

    @classmethod
    def of_text(cls, text: str) -> FailureTrend:
        at, seconds, *counts = map(int, text.split(" "))
        return cls(at, seconds, counts)

    @property
    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {"at": iso_time(self.at), "seconds": self.seconds, "counts": self.counts}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> FailureTrend:
        return cls(int(datetime.fromisoformat(record["at"]).timestamp()), record["seconds"], record["counts"])

    def spread(self, since: float, until: float, parts: int) -> list[float]:
        """The failures of each of so many equal parts of this time, as if each period were even."""
        length, found = max(1.0, until - since) / parts, [0.0] * parts
        for nth, n in enumerate(self.counts):
            begin = (self.at + nth * self.seconds - since) / length
            # A period may begin before the time and end after it. Nothing failed there.
            begin, end = max(0.0, begin), min(float(parts), begin + self.seconds / length)
            for part in range(int(begin), ceil(end)):
                found[part] += n * (min(end, part + 1) - max(begin, part)) / (end - begin)
        return found


def trend_of_times(times: Iterable[float]) -> FailureTrend:
    return trend_of_counts(Counter(int(at) // SHORTEST_S for at in times), SHORTEST_S)


def merged(trends: Iterable[FailureTrend]) -> FailureTrend:
    """At least one must be given."""
    known = list(trends)
    seconds = max(trend.seconds for trend in known)
    counts: Counter[int] = Counter()
    for trend in known:
        for nth, n in enumerate(trend.counts):
            counts[(trend.at + nth * trend.seconds) // seconds] += n
    return trend_of_counts(counts, seconds)


def trend_of_counts(counts: Mapping[int, int], seconds: int) -> FailureTrend:
    """`counts` are by period, numbered from 1970 on."""
    while max(counts) - min(counts) >= MOST_PERIODS:
        pairs: Counter[int] = Counter()
        for nth, n in counts.items():
            pairs[nth // 2] += n
        counts, seconds = pairs, 2 * seconds
    first = min(counts)
    return FailureTrend(first * seconds, seconds, [counts.get(nth, 0) for nth in range(first, max(counts) + 1)])


def period_s(span_s: float) -> int:
    """How long the periods are of failures over so long a time."""
    seconds = SHORTEST_S
    while span_s >= seconds * (MOST_PERIODS - 1):
        seconds *= 2
    return seconds
