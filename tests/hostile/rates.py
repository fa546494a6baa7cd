"""Whether a host kept its rate beside others that do everything wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median


def assert_kept(rate: float, starts: Sequence[float]) -> None:
    """Half of it between its requests as a rule, and a third over all of them: a busy machine stalls as well, and one
    that waits for another host does so for seconds."""
    starts = sorted(starts)
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert median(gaps) <= 1 / (0.5 * rate)
    assert len(gaps) / (starts[-1] - starts[0]) >= rate / 3
