"""A customer's account: a login form with a hidden token, and orders that require a session cookie.

No page links to it. Tokens and sessions are computed from the seed, so the server stores nothing, and any of its hosts
can restart.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from functools import partial
from html import escape
from http.cookies import SimpleCookie
from typing import NamedTuple
from urllib.parse import parse_qs

from shoal.practice.catalogue import Branch, Product
from shoal.practice.request import Answer, Site, Visit

LOGIN = "/account/login.html"
ORDERS = "/account/orders.html"
USER = "ann"
PASSWORD = "pebble"
_ORDERS = 5
_FIRST_ORDER = datetime.date(2026, 1, 5)


class Order(NamedTuple):
    number: int
    placed: datetime.date
    product: Product


def routes(branch: Branch) -> Mapping[str, Site]:
    return {
        LOGIN: partial(_login_page, branch),
        f"POST {LOGIN}": partial(_log_in, branch),
        ORDERS: partial(_orders_page, branch),
    }


def _login_page(branch: Branch, visit: Visit, status: int = 200, message: str = "Please log in.") -> Answer:
    form = (
        f'<form method="post" action="login.html"><input type="hidden" name="token" value="{sign(branch, "form")}">'
        '<input name="user"><input name="password" type="password"><button>Log in</button></form>'
    )
    return _page(status, "Log in", f"<p>{message}</p>{form}")


def _log_in(branch: Branch, visit: Visit) -> Answer:
    given = {name: values[-1] for name, values in parse_qs(visit.body.decode("utf-8", "replace")).items()}
    if given != {"token": sign(branch, "form"), "user": USER, "password": PASSWORD}:
        return _login_page(branch, visit, 403, "That is not right.")
    cookie = f"session={sign(branch, USER)}; Path=/account; HttpOnly"
    return Answer(303, b"", headers={"Location": ORDERS, "Set-Cookie": cookie})


def _orders_page(branch: Branch, visit: Visit) -> Answer:
    session = SimpleCookie(visit.headers.get("cookie", "")).get("session")
    if session is None or session.value != sign(branch, USER):
        return Answer(302, b"", headers={"Location": LOGIN})
    return orders_table(branch)


def orders(branch: Branch) -> list[Order]:
    numbers = range(min(_ORDERS, branch.product_count))
    return [
        Order(1000 + number, _FIRST_ORDER + datetime.timedelta(weeks=number), branch.product(number))
        for number in numbers
    ]


def orders_table(branch: Branch) -> Answer:
    return _page(200, "Your orders", f'<table id="orders">{"".join(map(_row, orders(branch)))}</table>')


def _row(order: Order) -> str:
    placed, product = order.placed, order.product
    return (
        f'<tr><td class="number">{order.number}</td><td><time datetime="{placed}">{placed:%d %b %Y}</time></td>'
        f'<td><a href="{product.path}">{escape(product.name)}</a></td><td class="total">{product.price}</td></tr>'
    )


def _page(status: int, title: str, main: str) -> Answer:
    page = f'<!doctype html><html lang="en-GB"><title>{title}</title><h1>{title}</h1>{main}'
    return Answer(status, page.encode())


def sign(branch: Branch, text: str) -> str:
    """A token that nobody can guess who does not know the seed."""
    return hashlib.sha256(f"{branch.seed} {branch.address} {text}".encode()).hexdigest()[:16]
