"""The order of a run: every test once, and no process alone with all tests that wait."""

from __future__ import annotations

import pytest

from tests.start_order import in_start_order

FILES = [f"tests/{room}/test_{n}.py" for room in ("cli", "fleet", "urls") for n in range(20) for _ in range(10)]


@pytest.mark.parametrize("processes", [1, 2, 5, 6])
def test_every_second_process_begins_with_tests_that_wait(processes: int) -> None:
    tests = list(enumerate(FILES))
    ordered = in_start_order(tests, lambda test: test[1], processes)
    assert sorted(ordered) == tests
    share = len(tests) // processes
    begins = ["fleet" in ordered[share * process][1] for process in range(processes)]
    assert begins == [process % 2 == 0 for process in range(processes)]


def test_tests_that_all_wait_keep_their_order() -> None:
    tests = [(n, "tests/fleet/test_one.py") for n in range(9)]
    assert in_start_order(tests, lambda test: test[1], 4) == tests
