from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.model.field_type import Precision


@pytest.mark.parametrize("text", ["1.230", "12.340", "5", "1E+3", "0.000", "-7.50", "9999999999.99"])
def test_a_precision_holds_a_number_that_it_can_write_exactly(text: str) -> None:
    assert Precision(12, 2).holds(Decimal(text))


@pytest.mark.parametrize("text", ["1.231", "0.001", "0.0001", "10000000000", "NaN", "Infinity"])
def test_a_precision_refuses_a_number_that_would_lose_a_digit(text: str) -> None:
    assert not Precision(12, 2).holds(Decimal(text))


@given(st.integers(-(10**8), 10**8), st.integers(0, 8), st.integers(0, 6))
def test_a_precision_holds_what_rounding_to_its_places_leaves_as_it_is(digits: int, exponent: int, places: int) -> None:
    number = Decimal(digits).scaleb(-exponent)
    assert Precision(30, places).holds(number) == (round(number, places) == number)
