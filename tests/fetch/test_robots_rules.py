"""The rules of robots.txt beside Protego's reading of them, and what they cost when a file is made to be costly."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from shoal.fetch.robots import MAX_ROBOTS_BYTES
from shoal.fetch.robots_rules import Rules
from shoal.fetch.robots_text import FOR_EVER_S

SITE = "http://shop.example"
ALL = "User-agent: *\n"


parts = st.sampled_from(
    [
        "/",
        "a",
        "b",
        "ab",
        "index.html",
        "*",
        "**",
        "$",
        "?",
        "=",
        "&x",
        "%41",
        "%2f",
        "%2F",
        "%2A",
        "%24",
        "%",
        "é",
        ".",
        "~",
    ]
)
patterns = st.lists(parts, max_size=6).map(lambda chosen: "/" + "".join(chosen))
fields = st.sampled_from(["Disallow", "disallow ", "Allow", "ALLOW", "Dissallow"])
rules = st.builds("{}: {}".format, fields, patterns | st.sampled_from(["", "*", "*a", "a", "http://b/a"]))
# Protego also takes a part of our name for us, and our name with a version for another: those have own tests.
names = st.sampled_from(["*", "shoal", "Shoal", "other", "shoalish", ""])
lines = st.one_of(
    rules,
    rules,
    st.builds("User-agent: {}".format, names),
    st.sampled_from(
        [
            "",
            "# a note",
            "nonsense",
            "nonsense: x",
            "odd:x",
            "Sitemap: https://shop.example/map.xml",
            "Sitemap https://shop.example/other.xml",
            "Host: x",
            "user agent shoal",
            "Disallow /a",
            "Disallow",
            "Crawl-delay: 3",
            "Crawl-delay: -1 # before",
            "crawl delay 4",
            "Crawl-delay: nan",
        ]
    ),
)
texts = st.lists(lines, max_size=14).map("\n".join)
MANY = [f"/*of-{number:03}-none-fits" for number in range(60)]


@given(texts, st.lists(patterns, min_size=1, max_size=8))
def test_a_file_says_what_protego_reads_in_it(text: str, paths: list[str]) -> None:
    ours, theirs = Rules(f"{ALL}Disallow: /a\n{text}", "shoal"), Protego.parse(f"{ALL}Disallow: /a\n{text}")
    for path in paths:
        assert ours.allows(SITE + path) == theirs.can_fetch(SITE + path, "shoal"), path
    assert ours.crawl_delay_s == (theirs.crawl_delay("shoal") or 0)
    assert ours.sitemaps == list(theirs.sitemaps)


@pytest.mark.parametrize("name", ["shoal", "SHOAL", "Shoal/1.0", "shoal 1.0", "shoal*", "shoal # us"])
def test_a_group_that_names_our_whole_product_token_is_for_us(name: str) -> None:
    rules = Rules(f"User-agent: *\nDisallow: /all\n\nUser-agent: {name}\nDisallow: /ours\n", "Shoal")
    assert not rules.allows(f"{SITE}/ours") and rules.allows(f"{SITE}/all")


@pytest.mark.parametrize(
    "name", ["sho", "s", "hoal", "shoals", "shoal-news", "shoal_", "my-shoal", "the shoal", "-", "", "*shoal", "**"]
)
def test_a_part_of_our_name_or_more_than_it_is_another_crawler(name: str) -> None:
    rules = Rules(f"User-agent: {name}\nDisallow: /theirs\n\nUser-agent: *\nDisallow: /all\n", "shoal")
    assert rules.allows(f"{SITE}/theirs") and not rules.allows(f"{SITE}/all")


def test_all_groups_that_name_us_are_one_and_those_for_all_count_only_without_them() -> None:
    mine = "User-agent: shoal\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n\nUser-agent: SHOAL/2\nDisallow: /c\n"
    assert [Rules(mine, "shoal").allows(SITE + path) for path in ("/a", "/b", "/c")] == [False, True, False]
    assert [Rules(mine, "other").allows(SITE + path) for path in ("/a", "/b", "/c")] == [True, False, True]


def test_a_group_that_names_us_and_forbids_nothing_allows_everything() -> None:
    assert Rules("User-agent: *\nDisallow: /\n\nUser-agent: shoal\nDisallow:\n", "shoal").allows(f"{SITE}/a")


@given(st.lists(rules, max_size=12), st.lists(patterns, min_size=1, max_size=8))
def test_among_many_patterns_the_same_fit(lines: list[str], paths: list[str]) -> None:
    others = [f"{field}: {pattern}" for field in ("Allow", "Disallow") for pattern in MANY]
    text = "\n".join([ALL, *others, *lines])
    ours, theirs = Rules(text, "shoal"), Protego.parse(text)
    for path in paths:
        assert ours.allows(SITE + path) == theirs.can_fetch(SITE + path, "shoal"), path


def file(lines: list[str]) -> str:
    return (ALL + "\n".join(lines))[:MAX_ROBOTS_BYTES]


SPITEFUL = {
    "needles": file([f"Disallow: /*aaaaaaaaaab{number}" for number in range(19_500)]),
    "asterisks": file([f"Disallow: /{'*a' * 100}*x{number}$" for number in range(2_300)]),
    "near misses": file([f"Disallow: /*{'a' * (450 + number)}b{'a' * 450}" for number in range(500)]),
    "one gram": file([f"Disallow: /*aaa{number:b}*aaaaaaaaaaaaaaaaaaaaaaa" for number in range(12_000)]),
    "beginnings": file([f"Disallow: /{'a' * number}b" for number in range(980)]),
    "short": file([f"Disallow:/{number:x}" for number in range(36_000)]),
    "one line": file([f"Disallow: /{'*a' * 250_000}"]),
    "nothing": "\n" * MAX_ROBOTS_BYTES,
    "names": file([*["User-agent: shoal"] * 12_000, *(f"Disallow: /{number}" for number in range(20_000))]),
}


@pytest.mark.parametrize("text", SPITEFUL.values(), ids=SPITEFUL)
def test_no_file_takes_long_to_read_or_to_ask(text: str) -> None:
    began = time.process_time()
    rules = Rules(text, "shoal")
    assert time.process_time() - began < 2
    for path in ("/aaab/c", "/" + "a" * 1_900, "/" + "ab" * 900):
        # Any one of them may be when Python clears up behind all tests before.
        assert min(seconds_to_ask(rules, SITE + path) for _ in range(3)) < 0.02


def seconds_to_ask(rules: Rules, url: str) -> float:
    began = time.process_time()
    rules.allows(url)
    return time.process_time() - began


def test_where_too_many_rules_might_fit_the_path_is_taken_as_forbidden() -> None:
    rules = Rules(SPITEFUL["near misses"], "shoal")
    assert not rules.allows(f"{SITE}/{'a' * 1_900}")
    assert rules.allows(f"{SITE}/page")


@pytest.mark.parametrize("kind", ["needles", "short", "names"])
def test_a_file_knows_about_how_much_memory_it_takes(kind: str) -> None:
    tracemalloc.start()
    try:
        rules = Rules(SPITEFUL[kind], "shoal")
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.7 * taken < rules.size_bytes < 2 * taken < 8_000_000


@pytest.mark.parametrize("delay", ["301", "9" * 308, "9" * 309, "9" * 5_000, "1e999", "inf"])
def test_a_crawl_delay_beyond_counting_is_a_long_one(delay: str) -> None:
    assert 300 < Rules(f"{ALL}Crawl-delay: {delay}", "shoal").crawl_delay_s <= FOR_EVER_S


@pytest.mark.parametrize("end", ["\0", " \0", "\0 \0", "\0 # note"])
def test_a_nul_at_the_end_of_a_line_is_white_space(end: str) -> None:
    rules = Rules(f"User-agent: *{end}\nDisallow: /a{end}\nCrawl-delay: 2{end}\n", "shoal")
    assert not rules.allows(f"{SITE}/a") and rules.allows(f"{SITE}/b")
    assert rules.crawl_delay_s == 2


@pytest.mark.parametrize(
    ("rule", "path"),
    [("/caf%E9", "/caf%e9"), ("/%7Eann", "/~ann"), ("/a%2fb", "/a%2Fb"), ("/é", "/%C3%A9"), ("/a b", "/a%20b")],
)
def test_a_path_is_the_same_however_it_is_spelt(rule: str, path: str) -> None:
    rules = Rules(f"{ALL}Disallow: {rule}", "shoal")
    assert not rules.allows(SITE + path)
    assert rules.allows(f"{SITE}/caf%E8") and rules.allows(f"{SITE}/a/b")
