"""When a request may start: three clocks stand before it.

The job's own at the host keeps the job's gap. The host's and the site's keep what all jobs together may ask; a site is
all hosts of one registrable domain at one address. Each knows the next start that is planned (`next_at`); those of
hosts and sites also know how long after the last start that is (`gap_s`).

A job waits for its own gap only. Between two jobs lies the shorter of their gaps, so that together they ask no more
than the quicker one may, and a slow one holds nobody up. What holds for every job is a host's `floor_at` (a crawl-delay
that was just read, a worker that gave a lease back) and its `block_until`. `redis/lua/clock.lua` does the same.
"""

from __future__ import annotations

from typing import NamedTuple

from shoal.frontier.pace import gap_of

SAME_START_S = 1e-4


class Clock(NamedTuple):
    next_at: float
    gap_s: float

    def follows(self, gap_s: float) -> float:
        """When a start that keeps this gap may follow what is planned."""
        return self.next_at - max(0.0, self.gap_s - gap_s)

    def planned(self, next_at: float, gap_s: float) -> Clock:
        """After starts, the last of them a gap before `next_at`.

        Of a quicker job among slow ones the last start counts, and for the slow ones what was planned before.
        """
        later = max(self.next_at, next_at)
        return Clock(later, later - (next_at - gap_s))

    def after(self, began_at: float, gap_s: float) -> Clock:
        """The plan follows a start that came late: the next one keeps its gap from then."""
        return self.planned(began_at + gap_s, gap_s) if began_at > self.next_at - self.gap_s else self

    def for_any_job(self, rate: float | None, crawl_delay_s: float) -> float:
        """When the host may be asked next, however quick the job is that asks."""
        return self.follows(gap_of(1 / rate if rate else 0.0, 1.0, crawl_delay_s))
