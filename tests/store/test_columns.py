"""Every time can be shown, even an invalid one, so that people can see and fix it."""

from __future__ import annotations

import math

import pytest

from shoal.store.results.columns import iso_time


@pytest.mark.parametrize("at", [1e13, 1e300, math.inf, math.nan])
def test_a_time_beyond_the_calendar_is_shown_as_its_end(at: float) -> None:
    assert iso_time(at) == "9999-12-31T23:59:59.000Z"


@pytest.mark.parametrize("at", [-1.0, -1e300, -math.inf])
def test_a_time_before_the_epoch_is_shown_as_the_epoch(at: float) -> None:
    assert iso_time(at) == "1970-01-01T00:00:00.000Z"
