import re
from urllib.parse import urlencode

import pytest

from shoal.practice import Answer, Shop, Visit

SHOP = Shop(seed=7, hosts=2, products=20)
LOGIN, ORDERS = "/account/login.html", "/account/orders.html"
RIGHT = {"user": "ann", "password": "pebble"}


def _ask(path: str, method: str = "GET", host: str = "127.0.0.1", cookie: str = "", body: str = "") -> Answer:
    headers = {"cookie": cookie} if cookie else {}
    return SHOP.answer(Visit(host, 80, method, path, path, "", headers, body.encode()))


def _log_in(host: str = "127.0.0.1", **given: str) -> Answer:
    (token,) = re.findall(r'name="token" value="(\w+)"', _ask(LOGIN, host=host).body.decode())
    return _ask(LOGIN, "POST", host, body=urlencode({"token": token} | given))


def _cookie(answer: Answer) -> str:
    return answer.headers["Set-Cookie"].partition(";")[0]


def test_a_login_gives_access_to_the_orders() -> None:
    entered = _log_in(**RIGHT)
    assert (entered.status, entered.headers["Location"]) == (303, ORDERS)
    orders = _ask(ORDERS, cookie=f"theme=dark; {_cookie(entered)}")
    assert orders.status == 200 and orders.body.count(b"<tr>") == 5


@pytest.mark.parametrize("given", [{}, RIGHT | {"password": "x"}, RIGHT | {"token": "x"}, RIGHT | {"more": "1"}])
def test_a_wrong_login_is_refused_with_the_form(given: dict[str, str]) -> None:
    answer = _log_in(**given)
    assert answer.status == 403 and "Set-Cookie" not in answer.headers and b"<form" in answer.body


@pytest.mark.parametrize("cookie", ["", "session=x", "session"])
def test_without_a_session_the_orders_redirect_to_the_login(cookie: str) -> None:
    answer = _ask(ORDERS, cookie=cookie)
    assert (answer.status, answer.headers["Location"]) == (302, LOGIN)


def test_a_session_is_valid_for_its_host_only() -> None:
    assert _ask(ORDERS, host="127.0.0.2", cookie=_cookie(_log_in(**RIGHT))).status == 302


def test_only_the_login_accepts_a_post() -> None:
    assert _ask(ORDERS, "POST").status == 405
    assert _ask(LOGIN, "PUT").status == 405
