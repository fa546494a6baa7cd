"""With which tests each process of a run begins.

pytest-xdist gives every process an equal share of the tests, in their order, and one that has no more takes from the
end of another's share. So tests that mostly wait (for leases to expire, for servers to return) would all be the share
of one process, and the last of them the tail of the run. Here every second process begins with some of them, while the
others use the processors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
WAITING = (
    *("tests/fleet/", "tests/deploy/", "tests/store/test_archive_", "tests/control/test_scrapyd_clients.py"),
    *("tests/scrapy/test_managed.py", "tests/scrapy/test_processes.py"),
)
"""How the names of such files begin."""


def in_start_order(tests: Sequence[T], file_of: Callable[[T], str], processes: int) -> list[T]:
    """The tests of a file stay together: they may share a server."""
    files: dict[str, list[T]] = defaultdict(list)
    others: list[T] = []
    for test in tests:
        (files[file] if (file := file_of(test)).startswith(WAITING) else others).append(test)
    begins: list[list[T]] = [[] for _ in range(processes)]
    for number, waiting in enumerate(files.values()):
        begins[number * 2 % (processes + processes % 2)] += waiting
    ordered: list[T] = []
    for process, begin in enumerate(begins):
        share = (len(tests) - len(ordered)) // (processes - process)
        more = max(0, share - len(begin))
        ordered += begin + others[:more]
        del others[:more]
    return ordered
