"""Decides when a request may start. Three clocks must allow it.

- The job's clock for the host keeps the job's gap.
- The host's clock and the site's clock keep the rate of all jobs together. A site is all hosts of one registrable
  domain at one address.

Each clock holds the next planned start (`next_at`). The clocks of hosts and sites also hold how long after the last
start that is (`gap_s`).

A job waits for its own gap only. Between two jobs the shorter of their gaps applies. So together they send no more
than the quicker one may, and a slow job delays no other. Two times apply to every job: a host's `floor_at` (set by a
new crawl-delay, or by a worker that released a lease) and its `block_until`. `redis/lua/clock.lua` does the same.
"""

from __future__ import annotations

from typing import NamedTuple

from shoal.frontier.adaptive_delay import gap_of

SAME_START_S = 1e-4


class StartClock(NamedTuple):
    next_at: float
    gap_s: float

    def follows(self, gap_s: float) -> float:
        """When a start with this gap may follow the planned one."""
        return self.next_at - max(0.0, self.gap_s - gap_s)

    def planned(self, next_at: float, gap_s: float) -> StartClock:
        """The clock after more starts, the last of which comes one gap before `next_at`.

        A quicker job among slow ones follows its own last start. The slow ones keep the start planned before.
        """
        later = max(self.next_at, next_at)
        return StartClock(later, later - (next_at - gap_s))

    def after(self, began_at: float, gap_s: float) -> StartClock:
        """The clock after a start that came late: the next one keeps its gap from then."""
        return self.planned(began_at + gap_s, gap_s) if began_at > self.next_at - self.gap_s else self

    def for_any_job(self, rate: float | None, crawl_delay_s: float) -> float:
        """When the host may be fetched next by a job without a gap of its own."""
        return self.follows(gap_of(1 / rate if rate else 0.0, 1.0, crawl_delay_s))
