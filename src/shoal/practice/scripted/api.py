"""The JSON behind the scripted part: products, slow and private lists, a login that gives a token, and orders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from http.cookies import SimpleCookie

from shoal.practice import account
from shoal.practice.api import json_answer, product_data, products_page
from shoal.practice.catalogue import Branch
from shoal.practice.request import Answer, Site, Visit, not_found

SLOW_S = 0.15
POLL_S = 20.0
LOGIN = "/app/login.html"


def routes(branch: Branch) -> Mapping[str, Site]:
    return {
        "/app/api/product/*": partial(_product, branch),
        "/app/api/slow": lambda visit: products_page(branch, visit)._replace(delay_s=SLOW_S),
        "/private/products": partial(products_page, branch),
        "/app/api/poll": lambda visit: json_answer(200, {})._replace(delay_s=POLL_S),
        "POST /app/api/login": partial(_log_in, branch),
        "/app/api/orders": partial(_orders, branch),
        "/app/orders-plain.html": partial(_plain_orders, branch),
    }


def _product(branch: Branch, visit: Visit) -> Answer:
    product = branch.product_at(visit.path.removeprefix("/app/api"))
    return json_answer(200, product_data(product)) if product else not_found(visit)


def _log_in(branch: Branch, visit: Visit) -> Answer:
    try:
        given = json.loads(visit.body)
    except ValueError:
        return json_answer(400, {"error": "this is not JSON"})
    if given != {"user": account.USER, "password": account.PASSWORD, "branch": "here"}:
        return json_answer(403, {"error": "That is not right."})
    return json_answer(200, {"token": _token(branch)})


def _orders(branch: Branch, visit: Visit) -> Answer:
    if visit.headers.get("authorization") != f"Bearer {_token(branch)}":
        return json_answer(401, {"error": "please log in"})
    orders = [
        {"number": each.number, "name": each.product.name, "total": each.product.price}
        for each in account.orders(branch)
    ]
    return json_answer(200, {"orders": orders})


def _plain_orders(branch: Branch, visit: Visit) -> Answer:
    token = SimpleCookie(visit.headers.get("cookie", "")).get("app_token")
    if token is None or token.value != _token(branch):
        return Answer(302, b"", headers={"Location": LOGIN})
    return account.orders_table(branch)


def _token(branch: Branch) -> str:
    return account.sign(branch, "app")
