"""No number that a job asks for is beyond its bounds, wherever it comes from."""

from __future__ import annotations

import math
from typing import Any

import pytest

from shoal.model.options import OPTIONS, bound_of

BOUNDED = {name: option.bound for name, option in OPTIONS.items() if option.bound is not None}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "5", None, [], True, -1, 10**16, 1e-320])
def test_a_value_that_is_no_number_within_the_bounds_is_refused(value: Any) -> None:
    assert not bound_of("rate").holds(value)
    assert not bound_of("max_pages").holds(value)


@pytest.mark.parametrize(("name", "bound"), BOUNDED.items(), ids=BOUNDED)
def test_both_ends_are_within_the_bounds_and_values_beyond_are_not(name: str, bound: Any) -> None:
    assert bound.holds(bound.least) and bound.holds(bound.most)
    assert not bound.holds(bound.least - 1) and not bound.holds(bound.most + 1)


def test_a_rate_may_be_zero_and_a_count_may_not() -> None:
    assert bound_of("rate").holds(0) and not bound_of("max_pages").holds(0)
    assert bound_of("rate").wants == "0 or a number from 0.0001 to 10,000"


def test_a_count_is_a_whole_number() -> None:
    assert not bound_of("max_pages").holds(1.5)


@pytest.mark.parametrize(("value", "nearest"), [(1e-320, 0.0001), (1e300, 10_000), (5, 5), (0, 0), (None, None)])
def test_a_number_stored_before_bounds_existed_becomes_the_nearest_within_them(value: Any, nearest: Any) -> None:
    assert bound_of("rate").nearest(value) == nearest
