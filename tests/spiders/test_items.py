"""Typed items from a page: the values of fields, required fields, and rejects."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated

import pytest
from pydantic import Field

from shoal import Item, Page, Url, css, jsonpath, regex, xpath
from shoal.errors import UsageError
from shoal.spiders.item import record_of
from shoal.spiders.item_schema import type_of

HTML = b"""
<html><body>
<article class=p><h3><a href="/p/1" title="Red lamp">Red...</a></h3><p class=price>&pound;51.77</p>
  <span class=tag>red</span><span class=tag>lamp</span><time>2026-11-15</time>
  <div class=seller><b>Ann</b> <i>4.5</i></div></article>
<article class=p><h3><a href="/p/2" title="Blue lamp">Blue...</a></h3><p class=price>1.234,50 &euro;</p></article>
<article class=p><h3><a href="/p/3" title="Grey lamp">Grey...</a></h3><p class=price>ask us</p></article>
<table><tr><th>UPC</th><td>abc123</td></tr></table>
</body></html>
"""


class Seller(Item):
    name: str = css("b")
    stars: float = css("i")


class Product(Item, key="link"):
    title: str = css("h3 a::attr(title)")
    price: Decimal = css(".price")
    link: Url = css("h3 a::attr(href)")
    tags: list[str] = css(".tag")
    seen: date | None = css("time")
    seller: Seller | None = css(".seller")
    currency: str = css(".price", re=r"([£€])", default="?")
    shop: str = "ours"


def page(body: bytes = HTML, url: str = "https://shop.example/list?page=1") -> Page:
    return Page(url, body, html=body)


def test_fields_are_picked_and_cast() -> None:
    first, second = page().each("article.p", Product)
    assert first == Product(
        title="Red lamp",
        price=Decimal("51.77"),
        link=Url("https://shop.example/p/1"),
        tags=["red", "lamp"],
        seen=date(2026, 11, 15),
        seller=Seller(name="Ann", stars=4.5),
        currency="£",
    )
    assert (second.price, second.tags, second.seen, second.seller, second.shop) == (
        Decimal("1234.50"),
        [],
        None,
        None,
        "ours",
    )


def test_an_invalid_item_becomes_a_reject_and_the_others_are_kept() -> None:
    seen = page()
    assert len(list(seen.each("article.p", Product))) == 2
    (reject,) = seen.rejects
    assert (reject.type, reject.found["title"]) == ("Product", "Grey lamp")
    assert reject.reason.startswith("price: 'ask us' is no")


def test_a_missing_required_field_names_its_selector() -> None:
    seen = page(b"<article class=p></article>")
    assert seen.item(Product) is None
    assert "title: nothing matches 'h3 a::attr(title)'" in seen.rejects[0].reason


def test_pydantic_constraints_hold() -> None:
    class Rated(Item):
        stars: Annotated[float, Field(le=5)] = css("i")

    seen = page(b"<i>9</i>")
    assert seen.item(Rated) is None
    assert "less than or equal to 5" in seen.rejects[0].reason


def test_xpath_and_regex_fields_work_too() -> None:
    class Facts(Item):
        upc: str = xpath("//th[.='UPC']/following::td[1]/text()")
        pounds: Decimal = regex(r"£([\d.]+)")

    found = page().item(Facts)
    assert found == Facts(upc="abc123", pounds=Decimal("51.77"))


def test_json_bodies_give_items() -> None:
    class Offer(Item):
        name: str = jsonpath("$.name")
        price: Decimal = jsonpath("$.price")
        tags: list[str] = jsonpath("$.tags[*]")

    body = b'{"offers": [{"name": "Lamp", "price": 12.5, "tags": ["a", "b"]}, {"name": "Mat", "price": "3,00"}]}'
    seen = Page("https://api.example/", body, content_type="application/json", html=body)
    lamp, mat = seen.each("$.offers[*]", Offer)
    assert (lamp.price, lamp.tags) == (Decimal("12.5"), ["a", "b"])
    assert (mat.price, mat.tags) == (Decimal("3.00"), [])
    assert seen.json("$.offers[*].name") == ["Lamp", "Mat"]


def test_records_carry_key_and_kinds() -> None:
    (first, _) = page().each("article.p", Product)
    record = record_of(first)
    assert (record.type, record.key) == ("Product", "https://shop.example/p/1")
    assert record.data["price"] == "51.77"
    kinds = {name: type.kind for name, type in type_of(Product).fields.items()}
    assert {name: kinds[name] for name in ("price", "seen", "tags", "seller", "link")} == {
        "price": "decimal",
        "seen": "date",
        "tags": "list",
        "seller": "object",
        "link": "url",
    }


def test_a_bad_selector_or_key_fails_where_it_is_written() -> None:
    with pytest.raises(UsageError, match=r"selector 'a\[', column"):
        css("a[")
    with pytest.raises(UsageError, match="has no field 'sku' for its key"):

        class Wrong(Item, key="sku"):
            title: str = css("h1")


def test_links_are_followed_by_element_attribute_and_base() -> None:
    body = b'<base href="/deep/"><a class=n href=two>2</a><a class=n>none</a><img src=i.png>'
    seen = page(body)
    assert [request.url for request in seen.follow("a.n")] == ["https://shop.example/deep/two"]
    assert [request.url for request in seen.follow("img::attr(src)")] == ["https://shop.example/deep/i.png"]
    assert [request.url for request in seen.follow("//a[@class='n']")] == ["https://shop.example/deep/two"]
    assert [request.url for request in seen.follow("//a/@href")] == ["https://shop.example/deep/two"]


def test_forms_and_json_make_posts() -> None:
    posted = page().request("/login", form={"user": "ann", "pass": "a&b"}, meta={"step": 1})
    assert (posted.method, posted.body) == ("POST", b"user=ann&pass=a%26b")
    assert posted.url == "https://shop.example/login"
    assert page().request("/api", json={"q": 1}).content_type == "application/json"


class Priced(Item):
    price: Decimal = css("b")
    exact: Decimal = css("b::attr(content)")
    fixed: Decimal = css("b", decimal=".")


@pytest.mark.parametrize(
    ("declared", "header", "price"),
    [
        ("lang=de", "", "129900"),
        ("class=x lang='pt-BR'", "en", "129900"),
        ("", "vi", "129900"),
        ("lang=de-CH", "", "129.900"),
        ("lang=en", "de", "129.900"),
        ("", "de, en", "129.900"),
        ("", "", "129.900"),
    ],
)
def test_the_language_of_a_page_decides_what_a_point_means(declared: str, header: str, price: str) -> None:
    body = f"<html {declared}><body><b content=129.900>129.900</b></body></html>".encode()
    item = Page("https://shop.example/", body, html=body, headers={"content-language": header}).item(Priced)
    assert item is not None
    assert (item.price, item.exact, item.fixed) == (Decimal(price), Decimal("129.900"), Decimal("129.900"))
