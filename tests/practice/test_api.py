import json
from typing import Any

import pytest

from shoal.practice import Answer, Shop, Visit

SHOP = Shop(seed=7, hosts=2, products=20, per_page=8)


def _get(query: str, host: str = "127.0.0.1") -> Answer:
    return SHOP.answer(Visit(host, 80, "GET", f"/api/products?{query}", "/api/products", query, {}))


def _told(query: str) -> Any:
    return json.loads(_get(query).body)


def test_each_page_names_the_next_until_the_last() -> None:
    queries, names = [""], []
    while queries[-1] is not None:
        told = _told(queries[-1])
        names += [product["name"] for product in told["products"]]
        queries.append(told["next"] and told["next"].partition("?")[2])
    assert queries == ["", "page=2", "page=3", None]
    assert len(names) == 20


def test_a_product_has_the_same_values_as_on_its_page() -> None:
    product = _told("page=3")["products"][-1]
    page = SHOP.answer(Visit("127.0.0.1", 80, "GET", product["url"], product["url"], "", {})).body.decode()
    assert all(f">{product[name]}<" in page for name in ("name", "upc", "price", "stock"))
    assert product["added"].startswith("2025-01-0")


@pytest.mark.parametrize("page", ["0", "4", "-1", "x", "²", "9" * 40])
def test_a_missing_page_is_not_found(page: str) -> None:
    answer = _get(f"page={page}")
    assert answer.status == 404 and "error" in json.loads(answer.body)


def test_each_host_has_its_own_products() -> None:
    assert _get("page=1").body != _get("page=1", "127.0.0.2").body
