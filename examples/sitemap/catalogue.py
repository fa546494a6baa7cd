from decimal import Decimal

from shoal import Item, Page, css, spider, xpath


class Product(Item, key="upc"):
    title: str = css("h1")
    price: Decimal = css(".price_color")
    upc: str = xpath("//th[.='UPC']/following::td[1]")


@spider("http://127.0.0.1:8000/", rate=50, allow_private=True, sitemaps=True, include=("/product/*",))
def catalogue(page: Page):
    if page.css("article.product_page"):
        yield page.item(Product)
