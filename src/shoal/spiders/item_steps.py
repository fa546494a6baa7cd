"""Steps: functions of a spider that see each item before it is kept. A step may change an item, drop it or split it.

    @books.step
    def affordable(item: Book):
        if item.price > 100:
            raise DropItem("too dear")

`run_callback.py` runs them after the callback, with its limits.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.spiders.page import Page

MOST_REASONS = 100
"""That are counted apart for one page."""
OTHER = "other reasons"
_LONGEST_REASON = 200


class DropItem(Exception):
    """A step raises it to drop the item, with a reason that is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class ItemStep(NamedTuple):
    function: Callable[..., Any]
    takes_page: bool

    @classmethod
    def of(cls, function: Callable[..., Any]) -> ItemStep:
        """Raises UsageError for a function that takes neither an item nor an item and a page."""
        n = len(inspect.signature(function).parameters)
        if n not in (1, 2):
            raise UsageError(f"the step {function.__name__} has {n} parameters: it gets an item, or an item and a page")
        return cls(function, n == 2)

    def __call__(self, item: Any, page: Page) -> Any:
        return self.function(item, page) if self.takes_page else self.function(item)


def count_drop(dropped: Counter[str], reason: str) -> None:
    text = reason.strip()[:_LONGEST_REASON] or "no reason given"
    dropped[text if text in dropped or len(dropped) < MOST_REASONS else OTHER] += 1
