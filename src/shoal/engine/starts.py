"""When a host was last asked by this process, so that the gap holds between the starts as they really happen.

The frontier plans starts a gap apart. A process that stalls for a moment wakes to several that are due; begun at once
they would be a burst at the host. One that falls behind the plan says so, because another process keeps to it.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from shoal.frontier.pace import GAP_MARGIN
from shoal.model import Lease

JITTER_S = GAP_MARGIN - 1
"""The margin of all gaps leaves room for so much in any second."""
HOSTS_REMEMBERED = 10_000


class Given(NamedTuple):
    """Between which moments, by this process's clock, the frontier gave some leases."""

    after: float
    before: float

    def wait_s(self, lease: Lease) -> float:
        """Until the lease may start for certain."""
        return self.before + lease.wait_s - time.monotonic()

    def late_s(self, lease: Lease) -> float:
        """How far behind the frontier's plan it starts, if it does so now; 0 for what is but jitter."""
        late_s = time.monotonic() - self.after - lease.wait_s
        return late_s if late_s > JITTER_S else 0.0


class Starts:
    def __init__(self) -> None:
        self._last: dict[str, tuple[float, float]] = {}
        """host -> when it was last asked, and the gap of the job that asked"""

    def early_s(self, host: str, gap_s: float) -> float:
        """How long a request must still wait; 0 or less: it may begin.

        Between the requests of two jobs lies the shorter of their gaps; the longer one is the frontier's to keep.
        """
        last, last_gap_s = self._last.get(host, (0.0, 0.0))
        return last + min(gap_s, last_gap_s) - time.monotonic()

    def begin(self, host: str, gap_s: float) -> None:
        if len(self._last) >= HOSTS_REMEMBERED:
            for oldest in sorted(self._last, key=self._last.__getitem__)[: HOSTS_REMEMBERED // 2]:
                del self._last[oldest]
        last, last_gap_s = self._last.get(host, (0.0, 0.0))
        now, due = time.monotonic(), last + min(gap_s, last_gap_s)
        # Jitter is not handed on: over many requests it would add up to a start that belongs to another process.
        self._last[host] = (due if 0 <= now - due < JITTER_S else now), gap_s
