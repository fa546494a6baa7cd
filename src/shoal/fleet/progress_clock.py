"""Tells since when a process has made no progress although it should."""

from __future__ import annotations


class ProgressClock:
    """The time in which the process had nothing to do does not count: otherwise one that was idle for an hour would be
    taken for stuck, and killed, as soon as it gets work."""

    def __init__(self, now: float) -> None:
        self._waited_at = now

    def at(self, now: float, engine_at: float, may_wait: bool) -> float:
        """When it last made progress, or was last seen with nothing to do or waiting for a server (`may_wait`).
        `engine_at` is when its engine last made progress."""
        if may_wait:
            self._waited_at = now
        return max(self._waited_at, engine_at)
