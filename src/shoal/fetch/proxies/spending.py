"""What the requests of a pool cost, and whether all jobs together have reached the limit of its costs."""

from __future__ import annotations

from shoal.model import MILLION
from shoal.model.proxy_list import CostLimit


class Spending:
    def __init__(self) -> None:
        self.limit: CostLimit | None = None
        """Of all jobs together."""
        self._spent, self._unsaved = 0.0, 0.0
        self._unreported = 0.0

    def add(self, cost: float) -> None:
        self._unreported += cost
        self._unsaved += cost

    def note_saved(self, saved: float, spent: float) -> None:
        """`saved`: what the store has got from this pool since the last call. `spent`: what it knows of all jobs, in
        the current period of the limit."""
        self._unsaved, self._spent = max(0.0, self._unsaved - saved), spent

    def is_over(self, more: float = 0.0) -> bool:
        """Whether the limit is reached, or would be with `more`."""
        return self.limit is not None and round(self._spent + self._unsaved + more, 6) >= self.limit.amount

    def take_unreported(self) -> int:
        """What was spent since the last call, in millionths of the currency of the prices."""
        millionths = round(self._unreported * MILLION)
        self._unreported -= millionths / MILLION
        return millionths
