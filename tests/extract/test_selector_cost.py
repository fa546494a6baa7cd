"""What is called cheap is quick on the worst small pages; what is not quick is not called cheap."""

from __future__ import annotations

import time

import pytest

from shoal.extract.document import Document, is_small
from shoal.extract.selector_cost import growth_of, is_deeper
from shoal.spiders.field_selectors import pick
from shoal.spiders.rule_cost import CHEAP_S, DEPTHS

CHEAP = [
    ("css", "h3 a::attr(title)"),
    ("css", "article.product_pod > .price_color"),
    ("css", "a[title='a ~ b c d e']::text"),
    ("css", "ul.pager li a, .next a"),
    ("css", "div ::text"),
    ("css", "li:not(.off):first-child"),
    ("css", "tr:nth-child(2n + 1) > td"),
    ("xpath", "//h1/text()"),
    ("xpath", "//a[contains(@class, 'next')]/@href"),
    ("xpath", "./div[@id='x']/span[1]"),
    ("xpath", "//div[text()='a // b | c']"),
    ("jsonpath", "$.items[*].name"),
    ("regex", "[0-9]+"),
]
COSTLY = [
    ("css", "i ~ p ~ p"),
    ("css", "i ~ p:nth-last-child(odd)"),
    ("css", "i div div div div div"),
    ("css", "b::text, i ~ p ~ p::text"),
    ("css", "p:nth-child(odd):nth-last-child(odd)"),
    ("xpath", "//*[count(//*[count(//*)>0])>0]"),
    ("xpath", "//p/following-sibling::p"),
    ("xpath", "//*/preceding::*"),
    ("xpath", "//div//div//div"),
    ("jsonpath", "$..a..b"),
]
ELEMENTS = 1_400
WORST = [
    b"<p>x" * ELEMENTS,
    b"<div>" * 40 + b"<div>x</div>" * 600,
    (b"<div>" * 40 + b"x" + b"</div>" * 40) * 17,
    b"<table>" + b"<tr><td>x" * 690,
]


@pytest.mark.parametrize(("kind", "text"), CHEAP)
def test_ordinary_selectors_are_cheap_on_any_small_page(kind: str, text: str) -> None:
    assert growth_of(kind, text).seconds(ELEMENTS, DEPTHS[1]) < CHEAP_S / 10


@pytest.mark.parametrize(("kind", "text"), COSTLY)
def test_selectors_that_look_at_everything_again_for_everything_are_not(kind: str, text: str) -> None:
    assert growth_of(kind, text).seconds(ELEMENTS, DEPTHS[-1]) > CHEAP_S


@pytest.mark.parametrize("page", WORST)
@pytest.mark.parametrize(("kind", "text"), [each for each in CHEAP + COSTLY if each[0] in ("css", "xpath")])
def test_what_is_called_cheap_takes_no_longer_on_the_worst_pages(kind: str, text: str, page: bytes) -> None:
    document = Document(page, "http://site.test/")
    assert is_small(page) and not is_deeper(document.root, DEPTHS[0])
    if growth_of(kind, text).seconds(page.count(b"<"), DEPTHS[0]) > CHEAP_S:
        return
    began = time.process_time()
    pick(kind, text).values(document)
    assert time.process_time() - began < 2 * CHEAP_S


def test_the_depth_of_a_page_is_seen() -> None:
    root = Document(b"<div>" * 30 + b"x", "http://site.test/").root
    assert is_deeper(root, 30) and not is_deeper(root, 32)
