"""The site for the items part: listing pages of 20 products with 10 fields each.

Every page has a pager: links to the pages before and after it, and to ten pages of an index. Page i links to pages
10i+1 to 10i+10. So the front page reaches every page in a few steps, and a crawl always has many pages to fetch.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path

from benchmarks.site import Href, words, write

PRODUCTS = 20
FIELDS = 10
INDEX = 10
WORDS_PER_DESCRIPTION = 33
"""Chosen for pages of 22 KB."""
FIRST_DAY = date(2020, 1, 1)
DAYS = 2000
RATINGS = ("one", "two", "three", "four", "five")


def build(root: Path, pages: int, href: Href) -> None:
    write(root, pages, lambda number: _page(number, pages, href))


def _page(number: int, pages: int, href: Href) -> str:
    chance = random.Random(number)
    index = ((INDEX * number + step) % pages for step in range(1, INDEX + 1))
    pager = ((number - 1) % pages, *index, (number + 1) % pages)
    return _FRAME.format(
        number=number,
        products="\n".join(_product(chance, number * PRODUCTS + place) for place in range(PRODUCTS)),
        pager="\n".join(f'<li><a href="{href(target)}">{target}</a></li>' for target in pager),
    )


def _product(chance: random.Random, serial: int) -> str:
    title = words(chance, 5)
    day = FIRST_DAY + timedelta(days=chance.randrange(DAYS))
    return _PRODUCT.format(
        serial=serial,
        title=title.title(),
        short=title[:16],
        slug=title.replace(" ", "-"),
        rating=chance.choice(RATINGS),
        price=f"{chance.randrange(100, 100_000) / 100:.2f}",
        stock=chance.randrange(1, 500),
        day=day,
        day_shown=f"{day:%d %B %Y}",
        category=words(chance, 1),
        description=words(chance, WORDS_PER_DESCRIPTION),
    )


_PRODUCT = """<article class="product">
<a class="picture" href="/products/{slug}-{serial}"><img src="/images/{serial}.jpg" alt="" width="200" height="200"></a>
<h3><a href="/products/{slug}-{serial}" title="{title}">{short}...</a></h3>
<p class="rating {rating}"><i class="star"></i><i class="star"></i><i class="star"></i><i class="star"></i></p>
<p class="price">&pound;{price}</p>
<p class="stock"><i class="tick"></i> <span class="count">{stock} in stock</span></p>
<dl>
<dt>SKU</dt><dd class="sku">SKU-{serial:08}</dd>
<dt>Category</dt><dd class="category"><a href="/categories/{category}">{category}</a></dd>
<dt>Added</dt><dd><time datetime="{day}">{day_shown}</time></dd>
</dl>
<p class="description">{description}</p>
</article>"""

_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Products, page {number}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
</head>
<body>
<main>
<h1>Products, page {number}</h1>
{products}
</main>
<nav class="pages"><ul>
{pager}
</ul></nav>
<footer><p>The same bytes every time.</p></footer>
</body>
</html>
"""
