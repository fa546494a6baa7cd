"""Formats counts, sizes and durations for people."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.wording import plural as plural
from shoal.wording import size as size

_BARS = "▁▂▃▄▅▆▇█"


def count(n: int) -> str:
    return f"{n:,}"


def duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s" if seconds >= 10 or whole == seconds else f"{seconds:.1f}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m"


def sparkline(values: Sequence[float]) -> str:
    """A bar for each value, as high as its share of the highest."""
    most = max(values, default=0.0)
    if most <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[round(value / most * (len(_BARS) - 1))] for value in values)
