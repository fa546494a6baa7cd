from decimal import Decimal

from shoal import Item, Page, css, spider


class Book(Item):
    title: str = css("h1")
    price: Decimal = css(".price_color")


@spider("http://127.0.0.1:8000/", rate=50, allow_private=True)
def books(page: Page):
    yield from page.follow("nav a, li.next a")
    yield from page.follow("h3 a", to=parse_book)


@books.callback
def parse_book(page: Page):
    yield page.item(Book)
