"""The bounds of every number that a job may ask for, in one table.

A number outside its bounds is refused wherever it enters: on the command line, in a spider, in rules, over the API. The
frontier checks what reaches it once more, because one job's number must never harm another job: a rate of 1e-320 makes
a gap of infinite length, and infinity times zero is no number at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from shoal.errors import UsageError

_MOST = 10**15
"""More than there is of anything, and every server counts to it exactly."""


class Bound(NamedTuple):
    least: float
    most: float
    whole: bool = True
    or_zero: bool = False
    """0 is allowed below `least`, and means that there is no limit."""

    @property
    def wants(self) -> str:
        """What to give, in words."""
        kind = "a whole number" if self.whole else "a number"
        return f"{'0 or ' if self.or_zero else ''}{kind} from {_shown(self.least)} to {_shown(self.most)}"

    @property
    def schema_least(self) -> float:
        """The lower bound where a schema has no room for an exception."""
        return 0 if self.or_zero else self.least

    def holds(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return math.isfinite(value) and (self.least <= value <= self.most or (self.or_zero and value == 0))


_COUNT = Bound(1, _MOST)
_AMOUNT = Bound(0, _MOST)
_SHARE = Bound(0, 1, whole=False)

BOUNDS: Mapping[str, Bound] = {
    "rate": Bound(0.0001, 10_000, whole=False, or_zero=True),
    "per_host": Bound(1, 10_000),
    "retries": Bound(0, 1000),
    "priority": Bound(-(10**6), 10**6),
    "max_pages": _COUNT,
    "max_pages_per_host": _COUNT,
    "max_depth": Bound(0, 10**6),
    "max_bytes": _AMOUNT,
    "max_seconds": Bound(0, 10**9, whole=False),
    "max_archive_bytes": _AMOUNT,
    "max_failure_rate": _SHARE,
    "max_null_share": _SHARE,
    "max_change": _SHARE,
}
"""By the names of the options."""

RATE = BOUNDS["rate"]
MAX_GAP_S = 1 / RATE.least
"""Between two requests of one job to one host, before the host's own pace stretches it."""


def within(option: str, value: Any) -> Any:
    """The nearest number within the bounds of an option: what was stored before it had any may be beyond them."""
    bound = BOUNDS[option]
    return value if value is None or bound.holds(value) else min(max(value, bound.least), bound.most)


def check_bounds(options: Mapping[str, Any]) -> None:
    """Raises UsageError for the first number that is out of its bounds; None means that there is no limit."""
    for name, bound in BOUNDS.items():
        value = options.get(name)
        if value is not None and not bound.holds(value):
            raise UsageError(f"{name} cannot be {value!r}: give {bound.wants}")


def _shown(number: float) -> str:
    return "10^15" if number == _MOST else f"{number:,}" if isinstance(number, int) else f"{number:g}"
