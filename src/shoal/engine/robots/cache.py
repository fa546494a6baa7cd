"""The robots.txt rules that this process has read, by origin and agent: the last used ones, within a memory limit.

It does not keep their text. Forgotten ones are read again from the store.
"""

from __future__ import annotations

from collections import OrderedDict

from shoal.fetch.robots import RobotsFile

MOST_ORIGINS = 10_000
MOST_BYTES = 96_000_000


class RobotsCache:
    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._files: OrderedDict[tuple[str, str], RobotsFile] = OrderedDict()
        """By agent too: the same file may have different rules for different names."""
        self.held_bytes = 0

    def get(self, origin: str, agent: str) -> RobotsFile | None:
        robots = self._files.get((origin, agent))
        if robots is not None:
            self._files.move_to_end((origin, agent))
        return robots

    def put(self, robots: RobotsFile) -> None:
        """Adds rules that were parsed. The last ones added always stay."""
        key = robots.origin, robots.agent
        if key in self._files:
            self._forget(key)
        self._files[key] = robots
        self.held_bytes += robots.size_bytes
        while len(self._files) > 1 and (len(self._files) > MOST_ORIGINS or self.held_bytes > self._most_bytes):
            self._forget(next(iter(self._files)))

    def _forget(self, key: tuple[str, str]) -> None:
        self.held_bytes -= self._files.pop(key).size_bytes
