"""The products as items: what a spider must get from every page that lists them, and the HTML of one."""

from __future__ import annotations

from html import escape

from shoal.practice.catalogue import Branch, Product

Item = dict[str, str | int]


def items(branch: Branch) -> list[Item]:
    """In the order of the pages."""
    products = map(branch.product, range(branch.product_count))
    return [{"upc": each.upc, "name": each.name, "price": each.price, "stock": each.stock} for each in products]


def card(product: Product) -> str:
    """The same as `card` in app.js makes of the product's JSON."""
    name = escape(product.name)
    return (
        f'<article class="product_pod" data-upc="{product.upc}"><img src="/app/photo/{product.upc}.svg" alt="">'
        f'<h3><a href="/app{product.path}" title="{name}">{name}</a></h3>'
        f'<p class="price_color">{escape(product.price)}</p><p class="stock">{product.stock}</p></article>'
    )


def cards(branch: Branch) -> str:
    return "".join(card(branch.product(number)) for number in range(branch.product_count))
