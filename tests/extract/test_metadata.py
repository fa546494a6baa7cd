"""What a page says of itself for machines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.document import Document
from shoal.extract.metadata import MAX_ENTRIES, json_ld, language, metadata, microdata


def page(html: str) -> Document:
    return Document(html.encode(), "http://x.test/p/")


def ld(*blocks: str) -> Document:
    return page("".join(f"<script type='application/ld+json'>{block}</script>" for block in blocks))


def test_cards_are_read_under_their_names() -> None:
    found = metadata(
        page(
            "<meta property=og:title content=T><meta property='og:image' content=a><meta property='og:image' content=b>"
            "<meta name=twitter:card content=summary><meta property=og:empty>"
        )
    )
    assert found["opengraph"] == {"title": "T", "image": ["a", "b"]}
    assert found["twitter"] == {"card": "summary"}


def test_json_ld_is_flattened_and_junk_left_out() -> None:
    document = ld(
        '<!-- {"@context": "s", "@graph": [{"@type": "A", "x": 1.5}, 3]}; -->',
        "{junk",
        '[{"@type": "B", "text": "two\nlines"}, [{"@type": "C"}]]',
        "[" * 5_000,
        '{"huge": 1e999}',
    )
    kinds = [{"@context": "s", "@type": "A", "x": 1.5}, {"@type": "B", "text": "two\nlines"}, {"@type": "C"}]
    assert json_ld(document) == kinds


def test_json_ld_is_bounded() -> None:
    assert len(json_ld(ld(json.dumps([{"a": 1}] * (2 * MAX_ENTRIES))))) == MAX_ENTRIES


def test_microdata_nests() -> None:
    document = page(
        "<div itemscope itemtype=Product><b itemprop='name title'>N</b><p itemprop=offer itemscope>"
        "<meta itemprop=price content=5><a itemprop=url href=/q>z</a></p>"
        "<i itemprop=tag>x</i><i itemprop=tag>y</i></div>"
    )
    offer = {"type": None, "properties": {"price": "5", "url": "http://x.test/q"}}
    properties = {"name": "N", "title": "N", "offer": offer, "tag": ["x", "y"]}
    assert microdata(document) == [{"type": "Product", "properties": properties}]


@pytest.mark.parametrize(
    ("html", "spelt"),
    [
        ("<html lang=en_GB>", "en-GB"),
        ("<meta http-equiv=Content-Language content=de>", "de"),
        ("<meta property=og:locale content=fr_FR>", "fr-FR"),
        ("<p>", None),
    ],
)
def test_language(html: str, spelt: str | None) -> None:
    assert language(page(html)) == spelt


PARTS = [
    "<i itemscope>",
    "<i itemprop=a itemscope>",
    "</i>",
    "<b itemprop=a>",
    "<script type='application/ld+json'>{",
    "}",
    "x",
]


@given(st.lists(st.sampled_from(PARTS), max_size=50))
def test_junk_gives_what_json_can_hold(parts: list[str]) -> None:
    json.dumps(metadata(page("".join(parts))), allow_nan=False)


def test_items_in_items_without_end_are_cut() -> None:
    json.dumps(microdata(page("<i itemscope>" + "<i itemprop=a itemscope>" * 400)))
