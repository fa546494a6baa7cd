"""A request with an argument of a wrong type makes its callback's page a dead letter with the line, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

from shoal import Page, Request, Spider, spider
from shoal.model import DeadLetter
from tests.engine.conftest import Field, Pages, html, serving, spec

WRONG: dict[str, list[Any]] = {
    "url": [None, 1, b"http://a.example/", object(), ["http://a.example/"]],
    "method": [None, 1, b"GET", object(), "", "GET /x HTTP/1.1\r\nX: y"],
    "body": [None, 1, "text", object(), {"a": 1}, bytearray(b"x")],
    "content_type": [None, 1, b"text/plain", object(), "text/plain\r\nX: y"],
    "meta": [1, "text", b"x", object(), ["a"], {"a": object()}, {"a": b"x"}, {("a",): 1}, {"a": Decimal(1)}],
    "priority": [None, "high", b"1", object(), 1.5, True, 10**30],
    "callback": [1, b"other", object(), ["other"], partial(print)],
    "headers": [1, "a", {"a": 1}],
    "statuses": [1, "404", [None]],
    "timeout": ["x", object(), -1],
    "errors": [1, b"other", object()],
}
SELECTORS = [None, 1, b"a", object()]


def follow(name: str, value: Any) -> Callable[[Page], Any]:
    return lambda page: page.follow("a", **{"to" if name == "callback" else name: value})


def ask(name: str, value: Any) -> Callable[[Page], Any]:
    return lambda page: page.request(**{"url": "/tame", "to" if name == "callback" else name: value})


def make(name: str, value: Any) -> Callable[[Page], Any]:
    return lambda page: Request(**{"url": f"{page.url}/tame", name: value})


def change(name: str, value: Any) -> Callable[[Page], Any]:
    def changed(page: Page) -> Request:
        request = Request(f"{page.url}/tame")
        setattr(request, name, value)
        return request

    return changed


def select(selector: Any) -> Callable[[Page], Any]:
    return lambda page: page.follow(selector)


WAYS: dict[str, tuple[Callable[[str, Any], Callable[[Page], Any]], set[str]]] = {
    "Request": (make, set(WRONG)),
    "page.request": (ask, set(WRONG) - {"body", "content_type"}),
    "page.follow": (follow, {"meta", "priority", "callback", "headers", "statuses", "timeout"}),
    "changed": (change, {"url", "method", "body", "meta", "priority", "callback"}),
}
HARMLESS = {"page.request-method-None", "changed-body-None"}
"""The first is the default; the second is a GET without a body."""


def cases() -> dict[str, Callable[[Page], Any]]:
    found = {f"page.follow-selector-{n}": select(value) for n, value in enumerate(SELECTORS)}
    for way, (do, names) in WAYS.items():
        for name in names:
            for n, value in enumerate(WRONG[name]):
                if f"{way}-{name}-{value}" not in HARMLESS:
                    found[f"{way}-{name}-{n}"] = do(name, value)
    return found


def shop_of(cases: dict[str, Callable[[Page], Any]]) -> Spider:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        if page.depth == 0:
            yield from page.follow("a")
        case = cases.get(page.url.rpartition("/")[2])
        if case is not None:
            made = case(page)
            yield from [made] if isinstance(made, Request) else made
        yield {"url": page.url}

    return shop


async def test_a_request_of_wrong_types_ends_its_page_only(crawler: Field) -> None:
    wrong = cases()
    names = [*wrong, "tame"]
    pages: Pages = {"/": html(*(f"/{name}" for name in names)), **{f"/{name}": html("/tame") for name in names}}
    async with serving(pages) as site:
        crawler.add("job", spec(spider="here"), site.url())
        crawler.spider = shop_of(wrong)
        await crawler.run("job")
        ends = {name: crawler.ending(site.url(f"/{name}")) for name in names}
    assert crawler.resting == {"job": "empty"}
    assert not isinstance(ends.pop("tame"), DeadLetter)
    assert [name for name, end in ends.items() if not isinstance(end, DeadLetter)] == []
    said = {name: (end.reason, end.detail or "") for name, end in ends.items() if isinstance(end, DeadLetter)}
    bad = {name: end for name, end in said.items() if end[0] != "callback" or not end[1].startswith("shop.shop: ")}
    assert bad == {}
    without_line = [
        name for name, end in said.items() if "(test_request_types.py:" not in end[1] and not name.startswith("changed")
    ]
    assert without_line == []
