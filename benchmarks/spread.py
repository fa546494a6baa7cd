"""Formats figures of several runs: the median, with the least and the most in brackets."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def spread(values: Sequence[float], digits: int, unit: str = "") -> str:
    return f"{median(values):,.{digits}f}{unit} ({min(values):,.{digits}f} – {max(values):,.{digits}f})"
