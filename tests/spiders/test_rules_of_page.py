"""Fields of rules that are read from the page, its URL or the row of a list, for each item of the page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shoal.errors import UsageError
from shoal.spiders import rules
from shoal.spiders.callback_trial import run_trial
from shoal.spiders.page import Page
from shoal.spiders.run_callback import collect

BODY = b"<h1>Lamps</h1>" + b"".join(b"<article><h3>L%d</h3></article>" % n for n in range(6))
URL = "https://shop.test/lamps"
FIELDS: dict[str, Any] = {
    "title": "h3",
    "category": {"css": "h1", "from": "page"},
    "at": {"page": "url", "type": "url"},
    "sku": {"input": "sku", "type": "integer", "optional": True},
}


def spider(fields: dict[str, Any], each: str | None = "article") -> Any:
    item = {"fields": fields, **({"each": each} if each else {})}
    return rules.from_json(json.dumps({"name": "lamps", "start": URL, "items": [item]}))


def page(body: bytes = BODY, **about: Any) -> Page:
    return Page(URL, body, html=body, **about)


@pytest.mark.parametrize("body", [BODY, b"<h1>Lamps</h1><article><h3>L0</h3></article>"], ids=["many", "one"])
def test_each_item_has_the_values_of_its_page(body: bytes) -> None:
    items = collect(spider(FIELDS).start, page(body, input={"sku": "7"}))
    assert len(items) == body.count(b"<article>")
    for n, item in enumerate(items):
        assert json.loads(item.model_dump_json()) == {"title": f"L{n}", "category": "Lamps", "at": URL, "sku": 7}


def test_without_each_they_are_read_too_and_a_missing_column_is_empty() -> None:
    (item,) = collect(spider({**FIELDS, "title": "h1"}, each=None).start, page())
    assert item.model_dump() == {"title": "Lamps", "category": "Lamps", "at": URL, "sku": None}


def test_a_required_value_that_the_page_lacks_rejects_its_items_with_the_reason() -> None:
    given = page(BODY.replace(b"h1", b"h2"))
    assert collect(spider({"title": "h3", "category": {"css": "h1", "from": "page"}}).start, given) == []
    assert [reject.reason for reject in given.rejects] == ["category: nothing matches 'h1'"] * 6


def test_json_pages_have_them_too() -> None:
    body = b'{"shop": "S", "lamps": [{"t": 1}, {"t": 2}]}'
    fields = {"t": {"jsonpath": "$.t", "type": "integer"}, "shop": {"jsonpath": "$.shop", "from": "page"}}
    items = collect(spider(fields, "$.lamps[*]").start, page(body, content_type="application/json"))
    assert [item.model_dump() for item in items] == [{"t": 1, "shop": "S"}, {"t": 2, "shop": "S"}]


def test_check_shows_what_they_give() -> None:
    made = spider(FIELDS)
    (kind,) = run_trial(made, "", page(input={"sku": "x"})).kinds
    assert set(kind.fields) == set(FIELDS)
    assert kind.fields["sku"].faults and not kind.fields["category"].faults


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ({"css": "h1", "from": "site"}, "from is 'site'"),
        ({"page": "title"}, "page is 'title'"),
        ({"page": "url", "input": "sku"}, "takes one of"),
        ({"input": "sku", "list": True}, "list does not go with input"),
        ({"each": "b", "from": "page", "fields": {"x": "i"}}, "does not go with from"),
        ({"css": "b", "fields": {"x": {"css": "h1", "from": "page"}}}, "put it beside the other fields"),
    ],
)
def test_what_cannot_be_meant_is_refused(field: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        spider({"x": field})
