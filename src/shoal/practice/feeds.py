"""A branch's files for programs: robots.txt, a sitemap index with plain and gzipped sitemaps, and an RSS feed."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from email.utils import format_datetime
from html import escape

from shoal.practice.catalogue import Branch
from shoal.practice.pages import CLEARANCE, STATIC_PAGES
from shoal.practice.request import PLAIN, Answer, Visit, not_found

PER_SITEMAP = 5_000
_FEED_PRODUCTS = 20
_SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_PRODUCTS_PREFIX = "/sitemap-products-"


def robots(branch: Branch, visit: Visit) -> Answer:
    lines = "User-agent: *", "Disallow: /private/", "", f"Sitemap: {visit.origin(branch.address)}/sitemap.xml", ""
    return Answer(200, "\n".join(lines).encode(), PLAIN)


def sitemap_index(branch: Branch, visit: Visit) -> Answer:
    count = -(-branch.product_count // PER_SITEMAP)
    paths = ["/sitemap-pages.xml", *(f"{_PRODUCTS_PREFIX}{n}.xml.gz" for n in range(1, count + 1))]
    origin = visit.origin(branch.address)
    entries = "".join(f"<sitemap><loc>{origin}{path}</loc></sitemap>\n" for path in paths)
    return _xml(f"<sitemapindex {_SITEMAP}>\n{entries}</sitemapindex>\n")


def pages_sitemap(branch: Branch, visit: Visit) -> Answer:
    categories = (c.path(page) for c in branch.categories for page in range(1, c.page_count + 1))
    return _xml(_urlset(branch, visit, ["/", *STATIC_PAGES, CLEARANCE, *categories]))


def products_sitemap(branch: Branch, visit: Visit) -> Answer:
    digits = visit.path.removeprefix(_PRODUCTS_PREFIX).removesuffix(".xml.gz")
    start = (int(digits) - 1) * PER_SITEMAP if digits.isdecimal() else -1
    if not 0 <= start < branch.product_count:
        return not_found(visit)
    numbers = range(start, min(start + PER_SITEMAP, branch.product_count))
    xml = _xml(_urlset(branch, visit, (branch.product(number).path for number in numbers)))
    # Without a time stamp, the same seed gives the same bytes.
    return Answer(200, gzip.compress(xml.body, mtime=0), "application/gzip")


def feed(branch: Branch, visit: Visit) -> Answer:
    origin = visit.origin(branch.address)
    first = max(0, branch.product_count - _FEED_PRODUCTS)
    items = "".join(
        f"<item><title>{escape(p.name)}</title><link>{origin}{p.path}?utm_source=rss</link>"
        f"<guid>{origin}{p.path}</guid><pubDate>{format_datetime(p.added)}</pubDate>"
        f"<description>{escape(p.description)}</description></item>\n"
        for p in (branch.product(number) for number in range(first, branch.product_count))
    )
    about = f"<title>{escape(branch.name)}</title><link>{origin}/</link><description>New products</description>"
    rss = f'<rss version="2.0"><channel>{about}<language>{branch.language.code}</language>\n{items}</channel></rss>\n'
    return _xml(rss)._replace(content_type="application/rss+xml")


def _urlset(branch: Branch, visit: Visit, paths: Iterable[str]) -> str:
    origin = visit.origin(branch.address)
    entries = "".join(f"<url><loc>{origin}{path}</loc></url>\n" for path in paths)
    return f"<urlset {_SITEMAP}>\n{entries}</urlset>\n"


def _xml(text: str) -> Answer:
    return Answer(200, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode(), "application/xml")
