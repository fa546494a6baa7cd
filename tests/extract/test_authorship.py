"""Author, times and main entity of a page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shoal.extract.document import Document
from shoal.extract.metadata import metadata


def said(head: str = "", body: str = "", *linked: Any) -> dict[str, Any]:
    scripts = "".join(f"<script type='application/ld+json'>{json.dumps(each)}</script>" for each in linked)
    html = f"<html><head><title>t</title>{head}{scripts}</head><body>{body}</body></html>".encode()
    return metadata(Document(html, "https://news.example/a"), html)


def facts(found: dict[str, Any]) -> tuple[Any, ...]:
    return found["author"], found["published"], found["modified"]


def test_json_ld_wins_over_cards() -> None:
    article = {
        "@type": "NewsArticle",
        "headline": "H",
        "author": [{"@type": "Person", "name": "Jane Doe"}, {"@id": "#joe"}],
        "datePublished": "2024-05-01T10:00:00+02:00",
        "dateModified": "2024-05-02",
    }
    graph = {"@graph": [{"@type": "WebSite"}, {"@type": "Person", "@id": "#joe", "name": "Joe"}, article]}
    found = said('<meta name=author content="A bot"><meta property=article:section content=World>', "", graph)
    assert facts(found) == ("Jane Doe; Joe", "2024-05-01T10:00:00+02:00", "2024-05-02")
    assert found["main_entity"]["headline"] == "H" and found["article"] == {"section": "World"}


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (
            "<meta property=article:published_time content=2024-05-01T10:00:00Z>"
            "<meta property=article:modified_time content=2024-06-01T10:00:00Z>"
            "<meta property=article:author content=https://social.example/jane><meta name=author content='Jane  Doe'>",
            "",
            ("Jane Doe", "2024-05-01T10:00:00+00:00", "2024-06-01T10:00:00+00:00"),
        ),
        (
            "<meta name=date content='1 May 2024'><meta property=article:author content=Ann>",
            "",
            ("Ann", "2024-05-01", None),
        ),
        (
            "",
            "<div itemscope><span itemprop=author itemscope><b itemprop=name>Bo</b></span>"
            "<time itemprop=datePublished datetime=2023-01-02>then</time><i itemprop=dateModified>3 Jan 2023</i></div>",
            ("Bo", "2023-01-02", "2023-01-03"),
        ),
        (
            "",
            "<article><h1>T</h1><p class=byline>By Jane Doe</p><time datetime=2020-05-01>May</time></article>",
            ("Jane Doe", "2020-05-01", None),
        ),
        ("<meta name=author content=' '><meta name=date content=soon>", "", (None, None, None)),
    ],
)
def test_other_places(head: str, body: str, expected: tuple[Any, ...]) -> None:
    assert facts(said(head, body)) == expected


@pytest.mark.parametrize(
    ("linked", "name"),
    [
        ([{"@type": "Organization", "name": "o"}, {"@type": "Product", "name": "p"}], "p"),
        ([{"@type": "WebPage", "name": "w", "mainEntity": {"@type": "Recipe", "name": "r"}}], "r"),
        ([{"@type": "WebPage", "mainEntity": {"@id": "#q"}}, {"@type": "Question", "@id": "#q", "name": "q"}], "q"),
        ([{"@type": ["https://schema.org/Product"], "name": "p"}], "p"),
        ([{"@type": "WebSite", "name": "s"}, {"@type": "WebPage", "name": "w"}], "w"),
        ([{"@type": "WebSite", "name": "s"}], None),
    ],
)
def test_the_main_entity_is_what_the_page_is_about(linked: list[Any], name: str | None) -> None:
    found = said("", "", *linked)["main_entity"]
    assert (found["name"] if found else None) == name


def test_junk_is_left_out() -> None:
    odd = {"@type": "Article", "author": [3, None, {"name": ["A", 4]}, "https://x.test/"], "datePublished": [7, {}]}
    assert facts(said("", "", odd)) == ("A", None, None)
