"""Keeps the gap between the starts as they really happen.

The frontier plans starts a gap apart. A process that stalls for a moment wakes to several that are due; begun at once
they would be a burst at the host.
"""

from __future__ import annotations

import asyncio
import time

from shoal.model import Lease

HOSTS_REMEMBERED = 10_000


class Starts:
    def __init__(self) -> None:
        self._last: dict[str, float] = {}

    async def wait(self, lease: Lease) -> None:
        """Returns when the lease's request may begin; from then on it counts as begun."""
        if not lease.gap_s:
            return
        host = lease.target.host
        while True:
            early_s = self._last.get(host, 0.0) + lease.gap_s - time.monotonic()
            if early_s <= 0:
                break
            await asyncio.sleep(early_s)
        self._forget_some()
        self._last[host] = time.monotonic()

    def _forget_some(self) -> None:
        if len(self._last) >= HOSTS_REMEMBERED:
            oldest = sorted(self._last, key=self._last.__getitem__)[: HOSTS_REMEMBERED // 2]
            for host in oldest:
                del self._last[host]
