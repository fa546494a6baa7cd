"""The rate at which a counter grew lately, measured by a process that looks at the counter now and then."""

from __future__ import annotations

from collections import deque

WINDOW_S = 10.0
"""A shorter window would jump between 0 and 1 for a host that is asked once a second."""
SHORTEST_S = 1.0
"""What grew in a moment is taken as that of a second."""


class RecentRate:
    def __init__(self, now: float, counted: int = 0) -> None:
        self._counts = deque([(now, counted)])

    def per_s(self, now: float, counted: int) -> float:
        """Over the last `WINDOW_S`, or since the start."""
        self._counts.append((now, counted))
        while len(self._counts) > 2 and now - self._counts[1][0] >= WINDOW_S:
            self._counts.popleft()
        then, before = self._counts[0]
        return (counted - before) / max(SHORTEST_S, now - then)
