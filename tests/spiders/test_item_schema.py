"""The types of Item classes, and which classes a spider uses."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field, computed_field

from shoal import Item, Page, css, jsonpath, spider
from shoal.errors import UsageError
from shoal.extract.casts import Url
from shoal.model.field_type import type_to_json
from shoal.spiders import rules
from shoal.spiders.item_schema import declared_items, type_of

HTML = b"<h1>Lamp</h1><b class=price>12.3456</b><i>1.5</i><i>2.25</i>"


class Seller(Item):
    name: str
    site: Url | None = None


class Reply(Item):
    text: str
    replies: list[Reply] = Field(default=[])


class Empty(Item):
    pass


class Lamp(Item):
    title: str = css("h1")
    price: Decimal = css(".price", precision=(12, 2))
    old_price: Decimal | None = None
    by_pydantic: Annotated[Decimal, Field(max_digits=8, decimal_places=3)] | None = None
    weights: list[Decimal] = css("i", precision=(6, 3))
    stock: int | None = None
    stars: float = 0
    sold: bool = False
    since: date | None = None
    seen: datetime | None = None
    page: Url | None = None
    tags: list[str] = Field(default=[])
    sizes: tuple[int, ...] = ()
    pair: tuple[int, str] = (1, "a")
    seller: Seller | None = None
    offers: list[Seller] = Field(default=[])
    thread: Reply | None = None
    empty: Empty | None = None
    anything: dict[str, int] = Field(default={})
    either: int | str = 1

    @computed_field
    def label(self) -> str:
        return self.title.upper()


SELLER = {"object": {"name": "text", "site": "url"}}
LAMP: dict[str, Any] = {
    **{"title": "text", "price": "decimal(12,2)", "old_price": "decimal(38,9)", "by_pydantic": "decimal(8,3)"},
    **{"weights": {"list": "decimal(6,3)"}, "stock": "integer", "stars": "number", "sold": "boolean", "since": "date"},
    **{"seen": "datetime", "page": "url", "tags": {"list": "text"}, "sizes": {"list": "integer"}},
    **{"pair": {"list": "text"}, "seller": SELLER, "offers": {"list": SELLER}},
    **{"thread": {"object": {"text": "text", "replies": {"list": "object"}}}, "empty": "object"},
    **{"anything": "object", "either": "object", "label": "text"},
}


def page_of(body: bytes) -> Page:
    return Page("https://a.example/", body, html=body)


def test_the_type_of_a_class_has_all_fields_with_their_declared_types() -> None:
    assert {name: type_to_json(type) for name, type in type_of(Lamp).fields.items()} == LAMP


@pytest.mark.parametrize(
    ("price", "reason"),
    [
        ("12.30", None),
        ("9999999999.99", None),
        ("12.3456", "price: 12.3456 does not fit decimal(12,2)"),
        ("12345678901", "price: 12345678901 does not fit decimal(12,2)"),
    ],
)
def test_a_value_beyond_the_precision_rejects_its_item(price: str, reason: str | None) -> None:
    page = page_of(HTML.replace(b"12.3456", price.encode()))
    found = page.item(Lamp)
    assert [reject.reason for reject in page.rejects] == ([reason] if reason else [])
    assert (found and found.price) == (None if reason else Decimal(price))


def test_each_entry_of_a_list_has_the_precision() -> None:
    page = page_of(HTML.replace(b"12.3456", b"1").replace(b"2.25", b"2.2525"))
    assert page.item(Lamp) is None
    assert [reject.reason for reject in page.rejects] == ["weights: 2.2525 does not fit decimal(6,3)"]


def test_a_precision_is_of_a_decimal_and_within_bounds() -> None:
    with pytest.raises(UsageError, match=r"precision=\(99, 2\).*1 to 76"):
        css(".price", precision=(99, 2))
    with pytest.raises(UsageError, match=r"Shoe\.size has a precision, but is not a Decimal"):

        class Shoe(Item):
            size: float = jsonpath("$.size", precision=(3, 1))


class Tile(Item):
    price: Decimal = css("b", decimal=",")
    stock: int = css("i", decimal=",")


def test_a_field_may_name_the_decimal_sign_of_its_numbers() -> None:
    tile = "<li><b>129.900</b><i>1.200</i></li>"
    pages = [Page("https://a.example/", f"<ul>{tile * count}</ul>".encode()) for count in (1, 9)]
    # One alone and many together are read in different ways.
    for page in pages:
        assert {(item.price, item.stock) for item in page.each("li", Tile)} == {(Decimal(129_900), 1_200)}
    with pytest.raises(UsageError, match=r"decimal=';'"):
        css("b", decimal=";")
    with pytest.raises(UsageError, match="no argument 'decimals'"):
        css("b", decimals=",")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"Wrong\.name has a decimal separator, but is not a number"):

        class Wrong(Item):
            name: str = css("b", decimal=",")


def test_rules_give_a_decimal_its_precision() -> None:
    made = rules.from_json(
        'start: https://a.example/\nitems: [{fields: {price: {css: .price, type: "decimal(5,2)", default: 7}}}]'
    )
    (cls,) = declared_items(made)
    assert type_to_json(type_of(cls).fields["price"]) == "decimal(5,2)"
    page = page_of(HTML)
    assert page.item(cls) is None
    assert [reject.reason for reject in page.rejects] == ["price: 12.3456 does not fit decimal(5,2)"]


@pytest.mark.parametrize(
    ("type", "default", "fault"),
    [
        ("decimal(99,2)", "1", "type is 'decimal(99,2)': precision 99, 2: give the number of digits, 1 to 76"),
        ("decimal(5)", "1", "type is 'decimal(5)'"),
        ("decimal(3,2)", "12", "default '12' is not a valid decimal(3,2): it has too many digits"),
    ],
)
def test_a_bad_precision_in_rules_is_reported(type: str, default: str, fault: str) -> None:
    field = f'{{css: .price, type: "{type}", default: "{default}"}}'
    with pytest.raises(UsageError) as refused:
        rules.from_json(f"start: https://a.example/\nitems: [{{fields: {{price: {field}}}}}]")
    assert fault in str(refused.value)


class Shop(Item):
    name: str = css("h1")


def shops(page: Page) -> Any:
    yield page.item(Shop)


@spider("https://a.example/")
def start(page: Page) -> Any:
    yield Lamp(title="x", price=Decimal(1), seller=Seller(name="a"))
    yield from (one for one in shops(page))


class Review(Item):
    text: str = css("p")


@start.callback
async def reviews(page: Page) -> Any:
    for review in page.each("article", Review):
        yield review


@spider("https://a.example/")
def plain(page: Page) -> Any:
    yield {"title": page.title}


def test_the_items_of_a_spider_are_those_its_callbacks_name_without_the_parts_of_others() -> None:
    assert declared_items(start) == (Lamp, Shop, Review)
    assert declared_items(plain) == ()
