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


@spider("http://127.0.0.1:8000/account/login.html", allow_private=True, max_null_share=0)
def orders(page: Page):
    # Everything the form holds is sent along, its hidden token too.
    hidden = {field.attr("name"): field.attr("value") for field in page.css("form input[type=hidden]")}
    password = os.environ.get("SHOP_PASSWORD", "pebble")
    yield page.request("login.html", to=listed, form={**hidden, "user": "ann", "password": password})


@orders.callback
def listed(page: Page):
    yield from page.each("#orders tr", Order)
