from __future__ import annotations

import pytest

from shoal.errors import UsageError
from shoal.urls.url_ranges import MOST_URLS, expand_ranges

SITE = "https://a.test/"


@pytest.mark.parametrize(
    ("url", "expanded"),
    [
        ("p-{1..3}.html", ["p-1.html", "p-2.html", "p-3.html"]),
        ("{08..11}", ["08", "09", "10", "11"]),
        ("{1..010}", [f"{n:03}" for n in range(1, 11)]),
        ("{3..1}", ["3", "2", "1"]),
        ("{0..20..10}", ["0", "10", "20"]),
        ("{1..2..0}", ["1", "2"]),
        ("{shoes,hats}/{1..2}", ["shoes/1", "shoes/2", "hats/1", "hats/2"]),
        ("?page={1..2}&size=5", ["?page=1&size=5", "?page=2&size=5"]),
        ("{0..0}", ["0"]),
    ],
)
def test_a_range_stands_for_its_urls(url: str, expanded: list[str]) -> None:
    assert expand_ranges(SITE + url) == [SITE + one for one in expanded]


@pytest.mark.parametrize(
    "url",
    ["", "{id}", "{}", "{1..}", "{a..c}", "?fields={id,name}", '?q={"a":1,"b":2}', "%7B1..3%7D", "{{1,2", "{a b,c}"],
)
def test_other_braces_stay_as_they_are(url: str) -> None:
    assert expand_ranges(SITE + url) == [SITE + url]


@pytest.mark.parametrize("url", ["{1..10001}", "{1..101}/{1..100}", "{0..999999999}/{0..999999999}"])
def test_too_many_urls_are_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError, match=f"more than {MOST_URLS:,} URLs"):
        expand_ranges(SITE + url)
    assert len(expand_ranges(SITE + "{1..10000}")) == MOST_URLS
