from __future__ import annotations

import itertools
import tracemalloc
from datetime import UTC, datetime

import pytest

from shoal.errors import UsageError
from shoal.urls import Traps
from shoal.urls.traps import RULES, parse_rules
from shoal.urls.traps.query_combinations import MOST_COMBINATIONS, Queries
from shoal.urls.traps.subdomains import MOST_SUBDOMAINS

MADE_AT = datetime(2026, 11, 15, tzinfo=UTC).timestamp()


def rule(path: str, *allowed: str) -> str | None:
    trap = Traps(allowed, MADE_AT).of("http://h/" + path)
    return trap.rule if trap else None


@pytest.mark.parametrize(
    ("path", "broken"),
    [
        ("", None),
        ("a/b/c?d=1#", None),
        ("11/11/11/x", None),
        ("a/a/a", None),
        ("a/a/a/a", "repeated_segment"),
        ("a/a/a/a/", "repeated_segment"),
        ("a/x/a/y/a/z/a", "repeated_segment"),
        ("a/b/a/b", None),
        ("a/b/a/b/a/b", "repeated_segment"),
        ("x/y/a/b/a/b/a/b/z", "repeated_segment"),
        ("a/b/c/a/b/c/a/b/c", "repeated_segment"),
        ("a/b/c/a/b/d/a/b/e", None),
        ("a/////", "repeated_segment"),
        ("go?to=/a/a/a/a/a/a", None),
        ("/".join(map(str, range(24))), None),
        ("/".join(map(str, range(24))) + "/", None),
        ("/".join(map(str, range(25))), "depth"),
        ("?" + "&".join(f"p{n}=1" for n in range(20)), None),
        ("?" + "&".join(f"p{n}=1" for n in range(21)), "query_params"),
        ("&" * 30, None),
        ("x" * (2_000 - len("http://h/")), None),
        ("x" * (2_001 - len("http://h/")), "length"),
        ("?f=1&f=2&f=3&f=4", None),
        ("?f=1&f=1&g=1", None),
        ("?f=1&f=1&f=1", "repeated_param"),
        ("in?next=%2Fin%3Fnext%3D%252F", None),
        ("in?next=%2Fin%3Fnext%3D%252Fin%253Fnext%253D%25252F", "repeated_param"),
        ("in?next=/in?next=/", None),
        ("in?next=/in?next=/in?next=/", "repeated_param"),
        ("?p=a.git;a=tree;h=1;hp=2;hpb=3", None),
        ("?f=1;f=1;f=1", "repeated_param"),
        ("?f=1;f=1&f=1", "repeated_param"),
        ("?f=1;f=2;f=3;f=4", None),
        ("?f=1&amp;g=2&amp;h=3&amp;i=4", None),
        ("?" + ";".join(f"p{n}=1" for n in range(21)), "query_params"),
        ("?p=%2F%3Fhp%3D1%26hp%3D2%26hp%3D3", None),
        ("?p=%2F%3Fp%3D1%26q%3D2%26p%3D3", "repeated_param"),
    ],
)
def test_endless_urls_are_told_by_their_shape(path: str, broken: str | None) -> None:
    assert rule(path) == broken


@pytest.mark.parametrize(
    "path",
    [
        "2031/05/",
        "2031/11",
        "blog/2029/01/02/",
        "blog/2029/12/24/",
        "2028/12/x.html",
        "calendar/2031/5",
        "events/2031/5/1/list",
        "month/203105",
        "cal/2031-05-01.html",
        "cal/2031-05",
        "?date=2031-05-01",
        "?date=2031-05-01T10%3A00",
        "?Date=20310501",
        "?month=5&year=2031",
        "?ym=203105",
        "?m=203105",
        "1969/12/",
        "cal/1912-04-15.html",
        "?date=1969-12-31",
    ],
)
def test_dates_out_of_reach_are_a_calendar(path: str) -> None:
    assert rule(path) == "calendar"


@pytest.mark.parametrize(
    "path",
    [
        "2028/11/",
        "2026/11/15/news.html",
        "1970/01/",
        "1912/04/15/archives/titanic.html",
        "forum/2035/2",
        "forum/2035/10",
        "product/2031",
        "product/203105",
        "product/20310501.html",
        "sku/2031-99",
        "2035-10-ways-to-live",
        "agenda-2030-12",
        "calendar/2026/11/",
        "month/20315",
        "?year=2050",
        "?id=203105",
        "?price=2031-2050",
        "?date=203113",
        "?from=1900-01-01&to=2099-12-31",
        "?month=13&year=2031",
    ],
)
def test_numbers_that_may_be_anything_else_are_no_calendar(path: str) -> None:
    assert rule(path) is None


def test_the_last_month_hangs_on_the_day_the_job_was_made() -> None:
    later = Traps((), datetime(2030, 1, 1, tzinfo=UTC).timestamp())
    assert later.of("http://h/2031/05/") is None
    assert later.of("http://h/2032/02/") is not None


def shop(*facets: int) -> list[str]:
    """Every combination of as many values of each facet."""
    values = ([f"f{place}={value}" for value in range(many)] for place, many in enumerate(facets))
    return [f"http://h/shop?{'&'.join(combination)}" for combination in itertools.product(*values)]


def refused(traps: Traps, urls: list[str]) -> list[str]:
    return [url for url in urls if (trap := traps.of(url)) and trap.rule == "queries"]


def test_filters_are_followed_only_until_their_values_have_been_combined_often_enough() -> None:
    urls, traps = shop(11, 11, 11), Traps((), MADE_AT)
    left = refused(traps, urls)
    # Those with a value that was new come on top.
    assert len(urls) - len(left) == MOST_COMBINATIONS + 1 + 10 + 10 + 10
    assert refused(traps, urls[:500]) == []
    assert refused(traps, [url.replace("/shop", "/hats") for url in urls[:500]]) == []
    assert refused(traps, [f"{urls[-1]}&f3=new"]) == []


def test_the_pages_of_lists_and_products_by_id_may_be_any_number() -> None:
    traps = Traps((), MADE_AT)
    lists = [f"http://h/list?cat={cat}&page={page}&sort=price" for cat in range(50) for page in range(100)]
    products = [f"http://h/index.php?id={id}&lang={lang}&view=product" for id in range(3_000) for lang in "de"]
    pages = [f"http://h/all?page={page}" for page in range(5_000)]
    assert refused(traps, [*lists, *pages]) == []
    assert refused(traps, products) == []


def test_combinations_of_filters_take_little_memory() -> None:
    small, urls = Queries(capacity=1_000), shop(10, 10, 10)[:20]
    tracemalloc.start()
    for path in range(200):
        for url in urls:
            small.recombined(url.replace("/shop", f"/shop/{path}/{'x' * 500}"))
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All 200 paths would take about 500 kB.
    assert kept_bytes < 120_000


@pytest.mark.parametrize(
    ("path", "broken"),
    [
        ("x" * 2_500, "length"),
        ("/".join(map(str, range(25))), "depth"),
        ("a/a/a/a", "repeated_segment"),
        ("?" + "&".join(f"p{n}=1" for n in range(21)), "query_params"),
        ("?f=1&f=1&f=1", "repeated_param"),
        ("2031/05/", "calendar"),
    ],
)
def test_an_allowed_rule_holds_no_more_and_the_others_still_do(path: str, broken: str) -> None:
    assert rule(path, broken) is None
    assert rule(path, *(other for other in RULES if other != broken)) == broken


def test_allowed_filters_are_all_followed() -> None:
    assert refused(Traps(["queries"], MADE_AT), shop(11, 11, 11)) == []


def test_a_trap_says_what_broke_the_rule_and_its_limit() -> None:
    traps = Traps((), MADE_AT)
    deep, far = traps.of("http://h/" + "/".join(map(str, range(25)))), traps.of("http://h/2031/05/")
    assert deep and deep.why == "25 parts in its path (limit 24)"
    assert far and "2031-05" in far.why and "2028-11" in far.why


def test_rules_are_allowed_by_name() -> None:
    assert parse_rules(["queries, depth", "depth"]) == ("depth", "queries")
    assert parse_rules(["all"]) == tuple(RULES)
    with pytest.raises(UsageError, match=r"'calender'.* calendar"):
        parse_rules(["calender"])


def test_endless_subdomains_of_one_domain_are_a_trap_and_those_known_stay_followed() -> None:
    traps = Traps([], MADE_AT)
    first = [f"https://s{n}.trap.test/" for n in range(MOST_SUBDOMAINS)]
    assert not any(map(traps.of, first))
    trap = traps.of("https://one-more.trap.test/")
    assert trap and trap.reason == "trap:subdomains" and "trap.test" in trap.why
    assert traps.of(f"{first[0]}more.html") is None
    assert traps.of("https://trap.test/") is None and traps.of("https://s1.another.test/") is None


def test_a_label_over_and_over_again_is_a_trap() -> None:
    traps = Traps([], MADE_AT)
    assert traps.of("https://www.www.www.example.com/")
    assert not traps.of("https://www.www.example.com/") and not traps.of("http://127.0.0.1/")
    assert Traps(["subdomains"], MADE_AT).of("https://a.a.a.example.com/") is None


def test_ports_of_a_host_are_no_subdomains() -> None:
    traps = Traps([], MADE_AT)
    assert not any(traps.of(f"http://127.0.0.1:{port}/") for port in range(8000, 8000 + MOST_SUBDOMAINS + 5))
