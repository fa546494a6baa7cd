"""The HTML of the shops. Links have every common form: relative, absolute, repeated, tracked, with fragments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from shoal.practice.behaviour import Behaviour
from shoal.practice.catalogue import Branch, Category, Product
from shoal.practice.request import Answer, Visit

ODDS_AND_ENDS = "/odds-and-ends.html"
STATIC_PAGES = {
    "/about.html": ("About us", "We are a small chain of shops that does not exist."),
    "/delivery.html": ("Delivery", "Parcels leave within a day. They never arrive, since they are made of words."),
    "/contact.html": ("Contact", "Write to us, or look at <a href='about.html#people'>who we are</a>."),
}
CLEARANCE = "/clearance.html"
_NEW_PRODUCTS = 8
_STYLE = Path(__file__).with_name("style.css").read_text()


class _Content(NamedTuple):
    """The part of a page that goes into the common layout."""

    title: str
    description: str
    main: str


def front_page(branch: Branch, chain: Sequence[Branch], visit: Visit) -> Answer:
    sisters = [sister for sister in chain if sister is not branch]
    visits = "".join(f"<li>{_link(visit.origin(s.address) + '/', s.name)}</li>" for s in sisters)
    newest = range(max(0, branch.product_count - _NEW_PRODUCTS), branch.product_count)
    pods = _pods((branch.product(number) for number in newest), "product/", "front")
    rooms = "".join(f"<li>{_link(c.path()[1:], c.name)}</li>" for c in branch.categories)
    main = f"<h1>{escape(branch.name)}</h1><ul class=rooms>{rooms}</ul>{pods}<ul class=sisters>{visits}</ul>"
    return _layout(branch, visit, _Content(branch.name, branch.language.sentences[0], main))


def category_page(branch: Branch, category: Category, page: int, visit: Visit) -> Answer:
    products = branch.listed(category, page)
    crumbs = _crumbs(branch, _link("index.html", category.name))
    count = f"<p>{page} / {category.page_count}</p>"
    main = f"{crumbs}<h1>{escape(category.name)}</h1>{count}{_pods(products, '../../product/', 'grid')}"
    title = category.name if page == 1 else f"{category.name} ({page})"
    return _layout(branch, visit, _Content(title, title, main + _pager(branch, category, page)))


def product_page(branch: Branch, product: Product, visit: Visit) -> Answer:
    category = branch.category_of(product)
    crumbs = _crumbs(branch, _link(".." + category.path(), category.name), escape(product.name))
    rows = {"UPC": product.upc, "Price": product.price, "In stock": product.stock}
    table = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
    main = (
        f"{crumbs}<article class=product_page><h1>{escape(product.name)}</h1><div id=photo>{_photo(product)}</div>"
        f'<p class="price_color">{product.price}</p><p><a href="#details">UPC</a></p>'
        f'<div id="product_description"><p>{escape(product.description)}</p></div>'
        f'<table id="details">{table}</table></article>{_related(branch, product, visit)}'
    )
    return _layout(branch, visit, _Content(product.name, product.description[:150], main))


def static_page(branch: Branch, path: str, visit: Visit) -> Answer:
    title, text = STATIC_PAGES[path]
    main = f'<h1>{title}</h1><p>{text}</p><p id="people"><a href="mailto:shop@outside.invalid">Mail</a></p>'
    return _layout(branch, visit, _Content(title, title, main))


def clearance_page(branch: Branch, visit: Visit) -> Answer:
    return _layout(branch, visit, _Content("Clearance", "Last pieces", "<h1>Clearance</h1><p>Nobody links here.</p>"))


def odds_and_ends(branch: Branch, behaviours: Iterable[Behaviour], visit: Visit) -> Answer:
    links = "".join(f"<li>{_link(each.href, each.link_text, each.rel)}</li>" for each in behaviours)
    main = f"<h1>Odds and ends</h1><p>What a crawler meets on any shop of some age.</p><ul>{links}</ul>"
    return _layout(branch, visit, _Content("Odds and ends", "Troubles, kept in one place", main))


def _layout(branch: Branch, visit: Visit, content: _Content) -> Answer:
    canonical = visit.origin(branch.address) + visit.path
    page = f"""<!doctype html>
<html lang="{branch.language.code}"><head><meta charset="utf-8">
<title>{escape(content.title)} | {escape(branch.name)}</title>
<meta name="description" content="{escape(content.description)}">
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<link rel="canonical" href="{canonical}">
<link rel="alternate" type="application/rss+xml" href="/feed.xml">
<style>{_STYLE}</style></head>
<body><header>{_link("/", branch.name)}<nav>{_nav(branch)}</nav></header>
<main>{content.main}</main>
<footer>{_footer(branch)}</footer></body></html>
"""
    return Answer(200, page.encode())


def _nav(branch: Branch) -> str:
    return " ".join(_link(category.path(), category.name) for category in branch.categories)


def _footer(branch: Branch) -> str:
    links = [_link(path, title) for path, (title, _) in STATIC_PAGES.items()]
    if branch.troubled:
        links.append(_link(ODDS_AND_ENDS, "Odds and ends"))
    return " ".join([*links, _link("/feed.xml", "RSS"), _link("/index.html", branch.language.home), _link("#", "↑")])


def _crumbs(branch: Branch, *steps: str) -> str:
    items = "".join(f"<li>{step}</li>" for step in (_link("/", branch.language.home), *steps))
    return f"<ul class=breadcrumb>{items}</ul>"


def _pods(products: Iterable[Product], prefix: str, source: str) -> str:
    pods = "".join(_pod(product, prefix + product.path.removeprefix("/product/"), source) for product in products)
    return f"<section>{pods}</section>"


def _pod(product: Product, href: str, source: str) -> str:
    name = escape(product.name)
    return (
        f'<article class="product_pod"><a href="{product.path}?utm_source={source}#photo">{_photo(product)}</a>'
        f'<h3><a href="{href}" title="{name}">{name}</a></h3><p class="price_color">{product.price}</p></article>'
    )


def _photo(product: Product) -> str:
    return f'<i style="--hue:{product.number * 47 % 360}"></i>'


def _pager(branch: Branch, category: Category, page: int) -> str:
    steps = []
    if page > 1:
        steps.append(f'<li class="previous">{_link(category.path(page - 1), branch.language.previous)}</li>')
    if page < category.page_count:
        steps.append(f'<li class="next">{_link(f"page-{page + 1}.html", branch.language.next)}</li>')
    return f'<ul class="pager">{"".join(steps)}</ul>'


def _related(branch: Branch, product: Product, visit: Visit) -> str:
    """Each link has another form, so that a crawler finds one product under many URLs."""
    origin = visit.origin(branch.address)
    others = [*branch.related(product), *branch.gone_from(product)]
    spellings = (
        lambda path: path.removeprefix("/product/"),
        lambda path: f"{origin}{path}?utm_source=related&utm_campaign=spring",
        lambda path: f"..{path}#details",
        lambda path: f"{path}?gclid=pebble",
    )
    links = (_link(spellings[n % 4](other.path), other.name) for n, other in enumerate(others))
    items = "".join(f"<li>{link}</li>" for link in links)
    return f"<aside><h2>{branch.language.related}</h2><ul>{items}</ul></aside>"


def _link(href: str, text: str, rel: str = "") -> str:
    attribute = f' rel="{rel}"' if rel else ""
    return f'<a href="{escape(href)}"{attribute}>{escape(text)}</a>'
