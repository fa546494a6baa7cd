"""A process's part of the limits of proxies that several processes use: the parts of all add up to the limit."""

from __future__ import annotations

import math
from typing import NamedTuple


class LimitShare(NamedTuple):
    place: int = 0
    """Among the users of the pool."""
    users: int = 1

    def at_once(self, proxy: int, limit: int) -> int:
        """How many requests at a time. What is left over goes to another user at each proxy."""
        if not self.users:
            return 0
        each, left = divmod(limit, self.users)
        return each + ((self.place + proxy) % self.users < left)

    def gap_s(self, rate: float) -> float:
        """The time between two requests."""
        return self.users / rate if self.users else math.inf


WHOLE = LimitShare()
NOTHING = LimitShare(0, 0)
"""Until the other users know of this one."""
