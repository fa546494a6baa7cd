"""Values that take long to read are read in the background: nobody who looks at a page waits for them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from shoal.control.cached_values import CachedByOwner, ReadInBackground

LONG_S = 60.0


def test_a_slow_value_is_there_at_a_later_look() -> None:
    may_end, reads = threading.Event(), []

    def read(owner: str | None) -> str:
        may_end.wait(LONG_S)
        reads.append(owner)
        return f"of {owner}"

    with ThreadPoolExecutor(2) as background:
        values = ReadInBackground(read, "nothing yet", LONG_S, background)
        assert [values.get("ann") for _ in range(3)] == ["nothing yet"] * 3
        may_end.set()
    assert values.get("ann") == "of ann" and reads == ["ann"]


def test_each_owner_has_a_value_of_its_own() -> None:
    reads: list[str | None] = []
    values = CachedByOwner(lambda owner: reads.append(owner) or len(reads), LONG_S)  # type: ignore[func-returns-value]
    assert [values.get(owner) for owner in (None, "ann", None, "ann")] == [1, 2, 1, 2]
