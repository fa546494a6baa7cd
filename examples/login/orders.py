import os
from datetime import date
from decimal import Decimal

from shoal import Item, Page, Url, css, spider


class Order(Item, key="number"):
    number: int = css(".number")
    placed: date = css("time::attr(datetime)")
    what: str = css("a")
    url: Url = css("a::attr(href)")
    total: Decimal = css(".total")


@spider("http://127.0.0.1:8000/account/login.html", rate=50, allow_private=True)
def orders(page: Page):
    token = page.css("input[name=token]")[0].attr("value") or ""
    form = {"token": token, "user": "ann", "password": os.environ["SHOP_PASSWORD"]}
    yield page.request("login.html", to=listed, form=form)


@orders.callback
def listed(page: Page):
    yield from page.each("#orders tr", Order)
