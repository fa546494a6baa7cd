"""When this process last sent a request to a host, so that the gap holds between actual starts.

The frontier plans starts one gap apart. If a process stalls for a moment, several starts are due at once, and would be
a burst at the host. A process that falls behind the plan reports it, because other processes follow the plan.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from shoal.frontier.adaptive_delay import GAP_MARGIN
from shoal.model import Lease

JITTER_S = GAP_MARGIN - 1
"""The margin of all gaps allows this much jitter per second."""
HOSTS_REMEMBERED = 10_000


class LeaseTiming(NamedTuple):
    """The moments, by this process's clock, between which the frontier returned some leases."""

    after: float
    before: float

    def wait_s(self, lease: Lease) -> float:
        """Seconds until the lease may certainly start."""
        return self.before + lease.wait_s - time.monotonic()

    def late_s(self, lease: Lease) -> float:
        """How far behind the frontier's plan the lease is if it starts now; 0 if it is only jitter."""
        late_s = time.monotonic() - self.after - lease.wait_s
        return late_s if late_s > JITTER_S else 0.0


class StartTimes:
    def __init__(self) -> None:
        self._last: dict[str, tuple[float, float]] = {}
        """host -> when the last request started, and the gap of its job"""

    def early_s(self, host: str, gap_s: float) -> float:
        """How long a request must still wait; 0 or less: it may start.

        Between the requests of two jobs the shorter gap applies. The frontier enforces the longer one.
        """
        last, last_gap_s = self._last.get(host, (0.0, 0.0))
        return last + min(gap_s, last_gap_s) - time.monotonic()

    def begin(self, host: str, gap_s: float) -> None:
        if len(self._last) >= HOSTS_REMEMBERED:
            for oldest in sorted(self._last, key=self._last.__getitem__)[: HOSTS_REMEMBERED // 2]:
                del self._last[oldest]
        last, last_gap_s = self._last.get(host, (0.0, 0.0))
        now, due = time.monotonic(), last + min(gap_s, last_gap_s)
        # Jitter is not carried over: over many requests it would add up to a start that belongs to another process.
        self._last[host] = (due if 0 <= now - due < JITTER_S else now), gap_s
