"""Values out of texts as people and sites write them."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.casts import Url, cast, castable, column_caster
from shoal.extract.extract_errors import CastError
from shoal.extract.parse_numbers import NumberSyntax, number_in

BASE = "http://x.test/p/q"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("£51.77", "51.77"),
        ("1.234,50 €", "1234.50"),
        ("1,234.50", "1234.50"),
        ("1 234,50", "1234.50"),
        ("1\u00a0234,50\u202f€", "1234.50"),
        ("1\u202f234", "1234"),
        ("1'234.50", "1234.50"),
        ("USD 1,299", "1299"),
        ("Rs.1,299", "1299"),
        ("12,34,567.00", "1234567.00"),
        ("kr. 1.299,00", "1299.00"),
        ("€ 5,-", "5"),
        ("-5%", "-5"),
        ("−7", "-7"),
        ("-$5", "-5"),
        ("5-", "-5"),
        ("(12.00)", "-12.00"),
        ("１２３．５", "123.5"),
        ("٣٤", "34"),
        ("1.234", "1.234"),
        ("1,234", "1234"),
        ("1.234.567", "1234567"),
        ("0,125", "0.125"),
        ("12345,678", "12345.678"),
        (".5", "0.5"),
        ("1.5e3", "1500"),
        ("1.899,-", "1899"),
        ("105. –", "105"),
        ("1.299 €", "1299"),
        ("Rp 31.500", "31500"),
        ("12.500 ₫", "12500"),
        ("$ 12.500", "12500"),
        ("KWD 1.250", "1.250"),
        ("£1.250", "1.250"),
        ("1.799 €/l", "1.799"),
        ("1.250 kg", "1.250"),
        ("$ 8. 94", "8.94"),
        ("130, 38 zł", "130.38"),
        ("35€ 99", "35.99"),
        ("$ 281.40 $ 265.70", "281.40"),
        ("3 Ausgaben für nur 14,85 EUR", "14.85"),
        ("3 issues for $10", "10"),
        ("129,00 € (-15%)", "129.00"),
        ("AED 8000 (USD 2179)", "8000"),
        ("Was: $124.95 Now: $99.95", "124.95"),
        ("34.12 (40.94 inc VAT)", "34.12"),
        ("4.5 (1,200 reviews)", "4.5"),
        ("4.5 out of 5 stars", "4.5"),
        ("4,5 von 5 Sternen", "4.5"),
        ("5 of 10", "5"),
        ("1 .د.ب", "1"),
    ],
)
def test_a_number_as_people_write_it(text: str, number: str) -> None:
    assert cast(text, Decimal, base_url=BASE) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "free",
        "3 - 5",
        "5 of 10 for 3",
        "10 20",
        "1,234,5",
        "1 2345",
        "9" * 300,
        "1,2 3",
        "40% OFF",
        "2 for $5",
        "From 26 to 50 €",
        "$.75,333",
        "1. 25 apples",
        "3, 14",
    ],
)
def test_what_is_no_single_number_is_refused(text: str) -> None:
    with pytest.raises(CastError):
        cast(text, Decimal, base_url=BASE)


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [("129.900", ",", "129900"), ("129.900", ".", "129.900"), ("1,234", ",", "1.234"), ("1.234,5", ",", "1234.5")],
)
def test_the_caller_may_name_the_decimal_sign(text: str, decimal: str, number: str) -> None:
    assert number_in(text, NumberSyntax(decimal)) == Decimal(number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("129.900", "129900"),
        ("1,234", "1.234"),
        ("0.125", "0.125"),
        ("51.77", "51.77"),
        ("1.299 €", "1299"),
        ("1,299 USD", "1299"),
        ("1.799 €/l", "1.799"),
        ("1234.567", "1234.567"),
    ],
)
def test_the_language_decides_only_where_nothing_else_does(text: str, number: str) -> None:
    assert number_in(text, NumberSyntax(usual=",")) == Decimal(number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("129.900", "129900"),
        ("4.000 reviews", "4000"),
        ("1,234", "1234"),
        ("0.125", "0.125"),
        ("51.77", "51.77"),
        ("1.799 €/l", "1.799"),
        ("1.250 KWD", "1.250"),
    ],
)
def test_a_value_of_at_most_two_decimals_has_groups_of_three_digits(text: str, number: str) -> None:
    for places in (0, 2):
        assert number_in(text, NumberSyntax(usual=",", places=places)) == Decimal(number)
    assert number_in("129.900", NumberSyntax(places=3)) == Decimal("129.9")


def test_a_sign_that_cannot_group_is_refused() -> None:
    with pytest.raises(ValueError, match="grouped by three"):
        number_in("1.50", NumberSyntax(","))


LOCALES = [(",", "."), (".", ","), (" ", ","), ("\u00a0", ","), ("\u202f", ","), ("'", "."), ("", "."), ("", ",")]


@given(
    st.decimals(min_value=-(10**12), max_value=10**12, places=2),
    st.sampled_from(LOCALES),
    st.sampled_from(["{}", "£{}", "{} €", "USD {}", "{}\u00a0zł", "Price: {}"]),
)
def test_a_formatted_decimal_comes_back(value: Decimal, signs: tuple[str, str], frame: str) -> None:
    group, point = signs
    whole, _, cents = f"{value:,.2f}".partition(".")
    assert cast(frame.format(whole.replace(",", group) + point + cents), Decimal, base_url=BASE) == value


def test_int_and_float() -> None:
    assert cast("1,204 results", int, base_url=BASE) == 1204
    assert cast(" 2.5 ", float, base_url=BASE) == 2.5
    with pytest.raises(CastError, match="decimals"):
        cast("2.5", int, base_url=BASE)
    with pytest.raises(CastError, match="too large"):
        cast("1e999", float, base_url=BASE)


@pytest.mark.parametrize(
    "text",
    [
        *("2026-11-15", "20261115", "2026/11/15", "15.11.2026", "15. 11. 2026", "11/15/2026", "15/11/2026"),
        *("15 Nov 2026", "Nov 15, 2026", "November 15th, 2026", "Sunday, 15 November 2026", "15-Nov-2026"),
        *("Sun, 15 Nov 2026 23:59:00 -0800", "2026-11-15T00:00:00Z"),
    ],
)
def test_a_date_as_sites_write_it(text: str) -> None:
    assert cast(text, date, base_url=BASE) == date(2026, 11, 15)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-15T10:20:30Z", datetime(2026, 11, 15, 10, 20, 30, tzinfo=UTC)),
        ("2026-11-15 10:20", datetime(2026, 11, 15, 10, 20)),
        ("2026-11-15T10:20:30.25+02:00", datetime(2026, 11, 15, 10, 20, 30, 250_000, timezone(timedelta(hours=2)))),
        ("Sun, 15 Nov 2026 10:20:30 -0330", datetime(2026, 11, 15, 10, 20, 30, 0, timezone(-timedelta(minutes=210)))),
        ("Nov 15, 2026 at 12:05 AM", datetime(2026, 11, 15, 0, 5)),
        ("15 Nov 2026", datetime(2026, 11, 15)),
    ],
)
def test_a_moment_keeps_its_zone(text: str, moment: datetime) -> None:
    found = cast(text, datetime, base_url=BASE)
    assert (found, found.utcoffset()) == (moment, moment.utcoffset())


@pytest.mark.parametrize(
    "text", ["", "5/6/2026", "31.02.2026", "2026-13-01", "15 Brumaire 2026", "2026-11-15T25:00", "yesterday", "1" * 200]
)
def test_a_date_that_is_none_or_could_be_two_is_refused(text: str) -> None:
    with pytest.raises(CastError):
        cast(text, date, base_url=BASE)


@given(
    st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=-9))]), min_value=datetime(1000, 1, 1))
)
def test_an_iso_moment_comes_back(moment: datetime) -> None:
    assert cast(moment.isoformat(), datetime, base_url=BASE) == moment


def test_truth_values_are_the_plain_ones() -> None:
    assert [cast(text, bool, base_url=BASE) for text in ("Yes", "true", "1", "no", "False", "0")] == [True] * 3 + [
        False
    ] * 3
    with pytest.raises(CastError, match="in stock"):
        cast("in stock", bool, base_url=BASE)


def test_urls_become_absolute() -> None:
    assert cast(" /a b", Url, base_url=BASE) == "http://x.test/a%20b"
    assert cast("//y.test/z", Url, base_url=BASE) == "http://y.test/z"
    for text in ("mailto:a@x.test", "javascript:x", "http://[", ""):
        with pytest.raises(CastError):
            cast(text, Url, base_url=BASE)


@given(st.text(max_size=40), st.sampled_from([int, float, Decimal, bool, date, datetime, Url]))
def test_any_text_is_cast_or_refused(text: str, to: type) -> None:
    assert castable(to)
    try:
        cast(text, to, base_url=BASE)
    except CastError as refused:
        assert refused.text == text


SPELT = (
    "5",
    "£5.10",
    "12 in stock",
    "-3",
    "1,5",
    "2.50",
    "1e3",
    "2026-11-15",
    "15 Nov 2026",
    "2026-13-01",
    "/a/b",
    "c d",
    "",
)


@given(st.lists(st.sampled_from(SPELT), max_size=3), st.sampled_from([str, int, float, Decimal, date, Url]))
def test_many_texts_are_cast_like_each(texts: list[str], to: type) -> None:
    cast_all = column_caster(to)
    assert cast_all is not None
    try:
        expected = [cast(text, to, base_url=BASE) for text in texts]
    except CastError as error:
        with pytest.raises(CastError, match=re.escape(str(error))):
            cast_all(texts, BASE)
    else:
        assert cast_all(texts, BASE) == expected
        assert all(type(value) is to for value in cast_all(texts, BASE))
