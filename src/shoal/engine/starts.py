"""When a host was last asked by this process, so that the gap holds between the starts as they really happen.

The frontier plans starts a gap apart. A process that stalls for a moment wakes to several that are due; begun at once
they would be a burst at the host.
"""

from __future__ import annotations

import time

HOSTS_REMEMBERED = 10_000


class Starts:
    def __init__(self) -> None:
        self._last: dict[str, float] = {}

    def early_s(self, host: str, gap_s: float) -> float:
        """How long a request must still wait; 0 or less: it may begin."""
        last = self._last.get(host)
        return 0.0 if last is None else last + gap_s - time.monotonic()

    def begin(self, host: str) -> None:
        if len(self._last) >= HOSTS_REMEMBERED:
            for oldest in sorted(self._last, key=self._last.__getitem__)[: HOSTS_REMEMBERED // 2]:
                del self._last[oldest]
        self._last[host] = time.monotonic()
