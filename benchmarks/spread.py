"""How figures of several runs are told: the median, and in brackets the least and the most."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def spread(values: Sequence[float], digits: int, unit: str = "") -> str:
    return f"{median(values):,.{digits}f}{unit} ({min(values):,.{digits}f} – {max(values):,.{digits}f})"
