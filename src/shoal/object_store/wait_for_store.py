"""Repeats a call while an object store is away, for those who have nothing else to do meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from shoal.errors import ObjectStoreAway

P = ParamSpec("P")
T = TypeVar("T")

WAITS_S = 300.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 15.0


def wait_for_store(call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Raises ObjectStoreAway if the store is away for five minutes."""
    deadline = time.monotonic() + WAITS_S
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return call(*args, **named)
        except ObjectStoreAway:
            if time.monotonic() + pause_s > deadline:
                raise
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
