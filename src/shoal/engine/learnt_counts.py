"""Counts by which a job learns about its URLs: shapes that bring nothing, and patterns of pages that need a browser.

They are stored with the job's tallies. So they last over a restart, and the workers of a fleet share them: each stores
what it adds, and calls the others when it knows something new.
"""

from __future__ import annotations

import time
from collections.abc import Callable

NEWS_EVERY_S = 10.0

Changes = dict[tuple[str, str], tuple[int, str | None]]


class LearntCounts:
    """Of one job: what this process has to add to the stored counts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._changes: Changes = {}
        self.has_news = False
        """Something was learnt that other workers should know."""
        self._clock = clock
        self._next_news_at = 0.0

    def add(self, kind: str, key: str, n: int, url: str | None = None) -> None:
        before, sample = self._changes.get((kind, key), (0, url))
        self._changes[kind, key] = before + n, sample

    def unsaved(self, kind: str, key: str) -> int:
        return self._changes.get((kind, key), (0, None))[0]

    def take_changes(self) -> Changes:
        """What to add to the stored counts."""
        changes, self._changes = self._changes, {}
        return changes

    def take_news(self) -> bool:
        """Whether to call the other workers now. Not often: a job of many hosts learns something all the time."""
        if not self.has_news or self._clock() < self._next_news_at:
            return False
        self.has_news, self._next_news_at = False, self._clock() + NEWS_EVERY_S
        return True
