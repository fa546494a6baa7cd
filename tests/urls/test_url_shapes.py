"""Which shapes a URL has."""

from __future__ import annotations

import pytest

from shoal.urls.url_shapes import MOST_SHAPES, shapes_of


@pytest.mark.parametrize(
    ("url", "some"),
    [
        ("/w/index.php?title=Main_Page&action=edit", {"?title", "?action", "?action=edit", "/w/*"}),
        ("/w/index.php?title=Special:WhatLinksHere/Cat", {"?title=Special:*", "?title=Special:WhatLinksHere/*"}),
        ("/wiki/Special:WhatLinksHere/Cat", {"/wiki/Special:*", "/wiki/Special:WhatLinksHere/*", "/wiki/*"}),
        ("/wiki/User_talk:Ann", {"/wiki/User_talk:*"}),
        ("/?p=repo.git;a=blob;f=a.c;h=0a1b", {"?p", "?a=blob", "?f", "?h"}),
        ("/repo/commit/?id=0a1b", {"/repo/*", "*/commit/*", "*/commit", "?id"}),
        ("/2020/05/a-post/feed/", {"*/feed", "/*/*/*/feed", "/2020/*", "/2020/05/*"}),
        ("/list?C=N&O=D", {"?C=N", "?O=D"}),
    ],
)
def test_a_url_has_shapes(url: str, some: set[str]) -> None:
    assert set(shapes_of(f"https://example.org{url}")) >= some


def test_the_feed_of_a_section_and_those_of_its_articles_differ() -> None:
    section, article = (
        shapes_of("https://example.org/news/feed/"),
        shapes_of("https://example.org/2020/05/a-post/feed/"),
    )
    assert set(section) & set(article) == {"*/feed"}


def test_a_front_page_has_none_and_no_url_has_many() -> None:
    assert shapes_of("https://example.org/") == ()
    query = "&".join(f"p{n}=word" for n in range(500))
    assert len(shapes_of(f"https://example.org/{'a/' * 500}?{query}")) == MOST_SHAPES


def test_values_that_differ_from_page_to_page_are_no_part_of_a_shape() -> None:
    assert shapes_of("https://example.org/doku.php?id=a:b2&rev=1700000000") == ("?id", "?rev")
