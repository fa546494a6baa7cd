"""A branch's products as JSON, in pages that name the next one: `/api/products?page=1`. No page links to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from urllib.parse import parse_qs

from shoal.practice.catalogue import Branch, Product
from shoal.practice.request import Answer, Site, Visit

PRODUCTS = "/api/products"
_JSON = "application/json"


def routes(branch: Branch) -> Mapping[str, Site]:
    return {PRODUCTS: partial(products_page, branch)}


def products_page(branch: Branch, visit: Visit) -> Answer:
    """The page that the query names. Its link to the next one is to PRODUCTS, wherever it is served."""
    number = parse_qs(visit.query).get("page", ["1"])[-1]
    page_count = max(1, -(-branch.product_count // branch.per_page))
    if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= page_count:
        return json_answer(404, {"error": f"there is no page {number}"})
    page = int(number)
    first = (page - 1) * branch.per_page
    numbers = range(first, min(first + branch.per_page, branch.product_count))
    data = {
        "page": page,
        "pages": page_count,
        "next": f"{PRODUCTS}?page={page + 1}" if page < page_count else None,
        "products": [product_data(branch.product(number)) for number in numbers],
    }
    return json_answer(200, data)


def product_data(product: Product) -> dict[str, object]:
    return {
        "upc": product.upc,
        "name": product.name,
        "url": product.path,
        "price": product.price,
        "stock": product.stock,
        "added": product.added.date().isoformat(),
    }


def json_answer(status: int, data: Mapping[str, object]) -> Answer:
    return Answer(status, json.dumps(data, ensure_ascii=False).encode(), _JSON)
