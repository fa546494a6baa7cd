"""The part of the shop that needs a browser: an empty shell without one, the same products with one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from shoal.practice import Answer, Running, Shop, Visit, running, scripted
from shoal.practice.account import PASSWORD, USER
from tests.practice.bare_browser import dump_dom, profile_folder

SHOP = Shop(seed=7, hosts=1, products=10, per_page=4, troubled=False)
HOST = "127.0.0.1"
SENT_BY_THE_SERVER = {"/app/plain.html", "/app/either.html", "/app/shadow-declared.html"}


def _get(target: str, **headers: str) -> Answer:
    path, _, query = target.partition("?")
    return SHOP.answer(Visit(HOST, 80, "GET", target, path, query, headers))


def _items(html: str | bytes) -> list[scripted.Item]:
    return [
        {
            "upc": card.attributes["data-upc"] or "",
            "name": card.css("h3 a")[0].text(),
            "price": card.css(".price_color")[0].text(),
            "stock": int(card.css(".stock")[0].text()),
        }
        for card in LexborHTMLParser(html).css("article.product_pod")
    ]


def _log_in(**given: str) -> tuple[int, dict[str, Any]]:
    path = "/app/api/login"
    answer = SHOP.answer(Visit(HOST, 80, "POST", path, path, "", {}, json.dumps(given).encode()))
    return answer.status, json.loads(answer.body)


@pytest.fixture(scope="module")
def site() -> Iterator[Running]:
    with running(SHOP) as site:
        yield site


@pytest.fixture
def folder() -> Iterator[Path]:
    with profile_folder() as folder:
        yield folder


@pytest.mark.parametrize("path", scripted.LIST_PAGES)
def test_a_plain_fetch_sees_products_only_where_the_server_sends_them(path: str) -> None:
    answer = _get(path)
    assert answer.status == 200
    found = _items(answer.body.replace(b'<template shadowrootmode="open">', b""))
    assert found == (SHOP.items(HOST) if path in SENT_BY_THE_SERVER else [])


@pytest.mark.parametrize("name", ["list", "either", "moved"])
def test_a_browser_sees_the_same_products_on_each_page(site: Running, folder: Path, name: str) -> None:
    assert _items(dump_dom(site.url(f"/app/{name}.html"), folder)) == SHOP.items(HOST)


def test_a_page_by_script_tells_where_it_is_looked_at(site: Running, folder: Path) -> None:
    page = LexborHTMLParser(dump_dom(site.url("/app/where.html"), folder, flags=["--window-size=500,900"]))
    assert [page.css(f"#{name}")[0].text() for name in ("width", "layout")] == ["500", "phone"]
    assert page.css("#timezone")[0].text()


def test_every_product_has_a_page_made_by_script(site: Running, folder: Path) -> None:
    [link, *_] = LexborHTMLParser(_get("/app/plain.html").body).css("article.product_pod h3 a")
    path = link.attributes["href"] or ""
    assert str(SHOP.items(HOST)[0]["name"]) not in _get(path).body.decode()
    page = LexborHTMLParser(dump_dom(site.url(path), folder))
    assert page.css("article.product_page h1")[0].text() == SHOP.items(HOST)[0]["name"]
    assert _get(path.replace("1.html", "99.html")).status == 404


def test_the_front_page_links_to_all_and_the_shop_to_none() -> None:
    front = _get(scripted.FRONT).body.decode()
    links = [link.attributes["href"] or "" for link in LexborHTMLParser(front).css("a")]
    assert set(scripted.LIST_PAGES) < set(links)
    assert {_get(link).status for link in links} == {200, 302}
    assert b"/app/" not in _get("/").body


def test_the_token_of_a_login_opens_the_orders_as_header_and_as_cookie() -> None:
    assert _log_in(user=USER, password="wrong", branch="here")[0] == 403
    assert _log_in(user=USER, password=PASSWORD, branch="")[0] == 403
    status, told = _log_in(user=USER, password=PASSWORD, branch="here")
    assert status == 200
    assert _get("/app/api/orders").status == 401
    orders = json.loads(_get("/app/api/orders", authorization=f"Bearer {told['token']}").body)["orders"]
    assert _get("/app/orders-plain.html").headers["Location"] == "/app/login.html"
    table = LexborHTMLParser(_get("/app/orders-plain.html", cookie=f"app_token={told['token']}").body)
    assert [cell.text() for cell in table.css("td.number")] == [str(order["number"]) for order in orders]
    assert len(orders) == 5
