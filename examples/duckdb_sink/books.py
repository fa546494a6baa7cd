from decimal import Decimal

from shoal import Item, Page, css, spider


class Book(Item, key="title"):
    title: str = css("h1")
    price: Decimal = css(".price_color")


@spider("http://127.0.0.1:8000/", rate=0, allow_private=True)
def books(page: Page):
    yield from page.follow("nav a, li.next a")
    yield from page.follow("h3 a", to=detail)


@books.callback
def detail(page: Page):
    yield page.item(Book)
