"""Rules and the same spider in code give the same results."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from shoal.practice import Shop
from shoal.practice.request import Visit
from shoal.spiders import rules
from shoal.spiders.field_selectors import css, xpath
from shoal.spiders.item import Item, record_of
from shoal.spiders.item_schema import type_of
from shoal.spiders.page import Page, Request
from shoal.spiders.spider import Spider, spider

BOOKS = """
name: books
start: [https://books.toscrape.com/]
follow: [{css: "li.next a"}, {css: "h3 a", to: detail}]
items:
  - each: article.product_pod
    fields:
      title: {css: "h3 a::attr(title)"}
      price: {css: ".price_color", type: decimal}
pages:
  detail:
    items: [{fields: {title: {css: h1}, upc: {xpath: "//th[.='UPC']/following::td[1]/text()"}}}]
"""


class Book(Item):
    title: str = css("h3 a::attr(title)")
    price: Decimal = css(".price_color")


class Detail(Item):
    title: str = css("h1")
    upc: str = xpath("//th[.='UPC']/following::td[1]/text()")


@spider("https://books.toscrape.com/")
def books(page: Page) -> Any:
    yield from page.each("article.product_pod", Book)
    yield from page.follow("li.next a")
    yield from page.follow("h3 a", to=detail)


@books.callback
def detail(page: Page) -> Any:
    yield page.item(Detail)


def written(tmp_path: Path, text: str, name: str = "books.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def page_of(shop: Shop, address: str, path: str) -> bytes:
    return shop.answer(Visit(address, 80, "GET", path, path, "", {})).body


def yielded(made: Spider, body: bytes, callback: str = "") -> list[Any]:
    """Items without the names of their types, which are the only difference."""
    found = made.test(body, "https://books.toscrape.com/x/", callback)
    return [record_of(each).data if isinstance(each, Item) else each for each in found]


@pytest.mark.parametrize("seed", [7, 1998])
def test_rules_and_the_same_spider_in_code_yield_the_same_for_a_whole_shop(tmp_path: Path, seed: int) -> None:
    twin = rules.load(written(tmp_path, BOOKS))
    shop = Shop(seed=seed, hosts=3, troubled=False)
    items = requests = 0
    for address, truth in shop.truth().items():
        for path in truth.pages:
            callback = "detail" if path.startswith("/product/") else ""
            body = page_of(shop, address, path)
            found = yielded(twin, body, callback)
            assert found == yielded(books, body, callback), path
            requests += sum(isinstance(each, Request) for each in found)
            items += sum(isinstance(each, dict) for each in found)
    assert items > 3 * 60 * 2 and requests > 3 * 60


def test_types_of_rules_have_the_kinds_of_code() -> None:
    listed, single = rules.from_json(BOOKS).item_types
    assert type_of(listed) == ("books", type_of(Book).fields)
    assert type_of(single) == ("detail", type_of(Detail).fields)


def test_rules_sent_as_json_make_the_same_spider(tmp_path: Path) -> None:
    made = rules.load(written(tmp_path, BOOKS.replace("name: books\n", "name: 'büch \\ \U0001f41f'\n")))
    assert made.rules is not None
    again = rules.from_json(made.rules)
    assert json.loads(made.rules)["name"] == again.name == made.name == "büch \\ \U0001f41f"
    assert (again.urls, again.rules, list(again.callbacks)) == (made.urls, made.rules, list(made.callbacks))


def test_rules_without_a_name_are_named_after_their_file(tmp_path: Path) -> None:
    made = rules.load(written(tmp_path, "start: https://a.example/", "shop.yml"))
    assert (made.name, made.urls) == ("shop", ("https://a.example/",))
    assert made.rules is not None and rules.from_json(made.rules).name == "shop"


def test_json_may_be_indented_with_tabs(tmp_path: Path) -> None:
    text = '{\n\t"start":\t["https://a.example/"],\n\t"options": {"include":\t["a\\tb"]}\n}'
    assert rules.load(written(tmp_path, text, "shop.json")).options == {"include": ("a\tb",)}


def test_options_are_those_of_a_spider() -> None:
    made = rules.from_json(
        "start: https://a.example/\noptions: {rate: 0.5, max_pages: 9, exclude: [/tag/*], sitemaps: true}"
    )
    assert made.options == {"rate": 0.5, "max_pages": 9, "exclude": ("/tag/*",), "sitemaps": True}


PAGE = b"""<base href="https://a.example/shop/"><h1> A <b>book</b></h1><p class=d>15 Nov 2026</p><p class=n>no</p>
<a href="next.html" rel=next>on</a><i>x</i><i>y</i><div class=s><b>Ann</b><u>3</u></div><div class=s><b>Bo</b></div>
<p class=ref>Ref: AB-12</p>"""


def item_of(fields: str) -> Any:
    made = rules.from_json(f"start: https://a.example/\nitems: [{{name: Thing, fields: {{{fields}}}}}]")
    page = Page("https://a.example/", PAGE, html=PAGE)
    [found] = made(page)
    return found.model_dump() if isinstance(found, BaseModel) else page.rejects[0].reason


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ("a: h1", {"a": "A book"}),
        ("a: //h1/b", {"a": "book"}),
        ("a: {css: .d, type: date}", {"a": date(2026, 11, 15)}),
        ("a: {css: .n, type: boolean}", {"a": False}),
        ("a: {css: 'a::attr(href)', type: url}", {"a": "https://a.example/shop/next.html"}),
        ("a: {css: i, list: true}", {"a": ["x", "y"]}),
        ("a: {css: em, list: true}", {"a": []}),
        ("a: {css: .ref, re: '([A-Z]+)-'}", {"a": "AB"}),
        ("a: {regex: 'Ref: (\\S+)'}", {"a": "AB-12"}),
        ("a: {css: em, optional: true}", {"a": None}),
        ("a: {css: em, type: decimal, default: 0.50}", {"a": Decimal("0.5")}),
        ("a: {css: em, type: boolean, default: false}", {"a": False}),
        ("a: {css: em, type: url, default: 'https://a.example'}", {"a": "https://a.example/"}),
        ("a: {css: .s, fields: {who: b, n: {css: u, type: integer}}}", {"a": {"who": "Ann", "n": 3}}),
        ("a: {css: em, optional: true, fields: {who: b}}", {"a": None}),
        (
            "a: {each: .s, fields: {who: b, n: {css: u, type: integer, optional: true}}}",
            {"a": [{"who": "Ann", "n": 3}, {"who": "Bo", "n": None}]},
        ),
        ("a: em", "a: nothing matches 'em'"),
        (
            "größe: h1, in-stock: .n, on: .n, model_year: .n",
            {"größe": "A book", "in-stock": "no", "on": "no", "model_year": "no"},
        ),
    ],
)
def test_a_field_has_the_expected_value(fields: str, given: Any) -> None:
    assert item_of(fields) == given


def test_json_pages_give_items_and_links() -> None:
    made = rules.from_json("""
start: https://a.example/api
items: [{each: "$.books[*]", name: Book, key: id, fields: {id: {jsonpath: $.id, type: integer}, title: $.title}}]
follow: [{jsonpath: $.next, priority: 2}]
""")
    body = b'{"books": [{"id": 7, "title": "A"}, {"id": 8, "title": "B"}], "next": "?page=2"}'
    *items, link = made.test(body, "https://a.example/api")
    records = [record_of(item) for item in items if isinstance(item, Item)]
    assert [(record.type, record.key, record.data) for record in records] == [
        ("Book", "7", {"id": 7, "title": "A"}),
        ("Book", "8", {"id": 8, "title": "B"}),
    ]
    assert link == Request("https://a.example/api?page=2", priority=2)


def test_links_may_lead_back_to_the_start_rules() -> None:
    made = rules.from_json(
        "{start: 'https://a.example/', pages: {leaf: {follow: [{xpath: 'body/a/@href', to: start}, i]}}}"
    )
    assert made.test(PAGE, callback="leaf") == [Request("https://a.example/shop/next.html", callback="start")]
    assert made.named("start") is made.start


def test_each_unnamed_item_of_a_page_has_its_own_type() -> None:
    made = rules.from_json("{name: x, start: 'https://a.example/', items: [{fields: {a: h1}}, {fields: {b: h1}}]}")
    assert [cls.__name__ for cls in made.item_types] == ["x", "x_2"]


def test_two_pages_may_give_items_of_one_type() -> None:
    made = rules.from_json("""
start: https://a.example/
items: [{name: Book, each: .s, key: t, fields: {t: b}}]
pages: {leaf: {items: [{name: Book, key: t, fields: {t: h1}}]}}
""")
    assert [cls.__name__ for cls in made.item_types] == ["Book"]
    found = [*made.test(PAGE), *made.test(PAGE, callback="leaf")]
    assert [record_of(each).key for each in found if isinstance(each, Item)] == ["Ann", "Bo", "A book"]


def test_an_anchor_stands_for_its_value() -> None:
    made = rules.from_json("""
start: https://a.example/
items: [{each: .s, fields: &who {name: b}}]
pages: {leaf: {items: [{fields: *who}]}}
""")
    assert yielded(made, PAGE) == [{"name": "Ann"}, {"name": "Bo"}]
    assert yielded(made, PAGE, "leaf") == [{"name": "book"}]
