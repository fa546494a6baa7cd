"""Says in the log that Redis or the database is away, once, and when the crawl continues."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from shoal.fleet.outage_log import without_detail

log = logging.getLogger("shoal.scrapy")


class OutageLog:
    """Of all tasks of the frontier's thread: each meets the same outage. The one in `fleet` has a single task."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[str, set[str]] = {}
        """Task -> its outages."""
        self._since = 0.0

    def waits(self, task: str, reason: object) -> None:
        """Call it at each failed try."""
        if not self._waiting:
            self._since = self._clock()
        outage = without_detail(str(reason))
        is_known = any(outage in outages for outages in self._waiting.values())
        self._waiting.setdefault(task, set()).add(outage)
        if not is_known:
            log.warning("waiting: %s", reason)

    def over(self, task: str) -> None:
        """Call it at each success."""
        if task not in self._waiting:
            return
        del self._waiting[task]
        if not self._waiting:
            log.info("continues after waiting for %.0f s", self._clock() - self._since)
