"""A branch's goods as JSON, a page at a time, each naming the next: `/api/products?page=1`. Nothing links to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from urllib.parse import parse_qs

from shoal.practice.catalogue import Branch, Product
from shoal.practice.visit import Answer, Site, Visit

PRODUCTS = "/api/products"
_JSON = "application/json"


def routes(branch: Branch) -> Mapping[str, Site]:
    return {PRODUCTS: partial(_products, branch)}


def _products(branch: Branch, visit: Visit) -> Answer:
    asked = parse_qs(visit.query).get("page", ["1"])[-1]
    page_count = max(1, -(-branch.product_count // branch.per_page))
    if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked) <= page_count:
        return _json(404, {"error": f"there is no page {asked}"})
    page = int(asked)
    first = (page - 1) * branch.per_page
    numbers = range(first, min(first + branch.per_page, branch.product_count))
    told = {
        "page": page,
        "pages": page_count,
        "next": f"{PRODUCTS}?page={page + 1}" if page < page_count else None,
        "products": [_told(branch.product(number)) for number in numbers],
    }
    return _json(200, told)


def _told(product: Product) -> dict[str, object]:
    return {
        "upc": product.upc,
        "name": product.name,
        "url": product.path,
        "price": product.price,
        "stock": product.stock,
        "added": product.added.date().isoformat(),
    }


def _json(status: int, told: Mapping[str, object]) -> Answer:
    return Answer(status, json.dumps(told, ensure_ascii=False).encode(), _JSON)
