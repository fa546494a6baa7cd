from datetime import date
from decimal import Decimal

from shoal import Item, Page, Url, jsonpath, spider


class Product(Item, key="upc"):
    upc: str = jsonpath("$.upc")
    name: str = jsonpath("$.name")
    url: Url = jsonpath("$.url")
    price: Decimal = jsonpath("$.price")
    stock: int = jsonpath("$.stock")
    added: date = jsonpath("$.added")


@spider("http://127.0.0.1:8000/api/products?page=1", rate=50, allow_private=True)
def products(page: Page):
    yield from page.each("$.products[*]", Product)
    yield from page.follow("$.next")
