"""A customer's account: a login form with a hidden token, and orders that only a session's cookie opens.

Nothing links to it. Tokens and sessions follow from the seed, so the server keeps nothing and any of its hosts can be
started anew.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from functools import partial
from html import escape
from http.cookies import SimpleCookie
from urllib.parse import parse_qs

from shoal.practice.catalogue import Branch, Product
from shoal.practice.visit import Answer, Site, Visit

LOGIN = "/account/login.html"
ORDERS = "/account/orders.html"
USER = "ann"
PASSWORD = "pebble"
_ORDERS = 5
_FIRST_ORDER = datetime.date(2026, 1, 5)


def routes(branch: Branch) -> Mapping[str, Site]:
    return {
        LOGIN: partial(_login_page, branch),
        f"POST {LOGIN}": partial(_log_in, branch),
        ORDERS: partial(_orders_page, branch),
    }


def _login_page(branch: Branch, visit: Visit, status: int = 200, said: str = "Please log in.") -> Answer:
    form = (
        f'<form method="post" action="login.html"><input type="hidden" name="token" value="{_sign(branch, "form")}">'
        '<input name="user"><input name="password" type="password"><button>Log in</button></form>'
    )
    return _page(status, "Log in", f"<p>{said}</p>{form}")


def _log_in(branch: Branch, visit: Visit) -> Answer:
    given = {name: values[-1] for name, values in parse_qs(visit.body.decode("utf-8", "replace")).items()}
    if given != {"token": _sign(branch, "form"), "user": USER, "password": PASSWORD}:
        return _login_page(branch, visit, 403, "That is not right.")
    cookie = f"session={_sign(branch, USER)}; Path=/account; HttpOnly"
    return Answer(303, b"", headers={"Location": ORDERS, "Set-Cookie": cookie})


def _orders_page(branch: Branch, visit: Visit) -> Answer:
    session = SimpleCookie(visit.headers.get("cookie", "")).get("session")
    if session is None or session.value != _sign(branch, USER):
        return Answer(302, b"", headers={"Location": LOGIN})
    numbers = range(min(_ORDERS, branch.product_count))
    rows = "".join(_row(number, branch.product(number)) for number in numbers)
    return _page(200, "Your orders", f'<table id="orders">{rows}</table>')


def _row(number: int, product: Product) -> str:
    placed = _FIRST_ORDER + datetime.timedelta(weeks=number)
    return (
        f'<tr><td class="number">{1000 + number}</td><td><time datetime="{placed}">{placed:%d %b %Y}</time></td>'
        f'<td><a href="{product.path}">{escape(product.name)}</a></td><td class="total">{product.price}</td></tr>'
    )


def _page(status: int, title: str, main: str) -> Answer:
    page = f'<!doctype html><html lang="en-GB"><title>{title}</title><h1>{title}</h1>{main}'
    return Answer(status, page.encode())


def _sign(branch: Branch, text: str) -> str:
    return hashlib.sha256(f"{branch.seed} {branch.address} {text}".encode()).hexdigest()[:16]
