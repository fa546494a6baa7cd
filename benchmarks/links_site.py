"""The site for the links part: pages with 72 links each.

The links are like those of a shop or a newspaper: a menu on all pages, neighbours that nearby pages share, and others
anywhere on the site. Page i also links to pages 2i+1 and 2i+2, so that the front page reaches every page.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from benchmarks.site import Href, words, write

MENU = 24
NEIGHBOURS = 20
"""Also the number of pages that share them."""
CHILDREN = 2
ANYWHERE = 26
LINKS = MENU + NEIGHBOURS + CHILDREN + ANYWHERE
WORDS_PER_PARAGRAPH = 66
"""Chosen for pages of 22 KB."""


def build(root: Path, pages: int, href: Href) -> None:
    write(root, pages, lambda number: _page(number, pages, href))


def compose(
    chance: random.Random, number: str, menu: Iterable[str], article: Iterable[str], aside: Iterable[str]
) -> str:
    """Makes a page from its number and its links."""
    return _FRAME.format(
        title=f"{words(chance, 4).capitalize()} {number}",
        menu="\n".join(f"<li>{_link(target, f'Part {place}')}</li>" for place, target in enumerate(menu)),
        article="\n".join(_paragraph(chance, target) for target in article),
        neighbours="\n".join(f"<li>{_link(target, words(chance, 4))}</li>" for target in aside),
    )


def _page(number: int, pages: int, href: Href) -> str:
    chance = random.Random(number)
    first = number - number % NEIGHBOURS
    children = ((2 * number + step) % pages for step in range(1, CHILDREN + 1))
    anywhere = (chance.randrange(pages) for _ in range(ANYWHERE))
    return compose(
        chance,
        str(number),
        menu=(href(place * pages // MENU) for place in range(MENU)),
        article=map(href, (*children, *anywhere)),
        aside=(href((first + step) % pages) for step in range(NEIGHBOURS)),
    )


def _paragraph(chance: random.Random, target: str) -> str:
    half = WORDS_PER_PARAGRAPH // 2
    link = _link(target, words(chance, 3))
    return f"<h2>{words(chance, 3)}</h2>\n<p>{words(chance, half)} {link} <em>{words(chance, half)}</em>.</p>"


def _link(target: str, text: str) -> str:
    return f'<a class="internal" href="{target}">{text}</a>'


_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta name="description" content="{title}, one page of the benchmark's site">
<meta name="viewport" content="width=device-width, initial-scale=1">
</head>
<body>
<header><nav><ul class="menu">
{menu}
</ul></nav></header>
<main>
<h1>{title}</h1>
<article>
{article}
</article>
<aside><ul>
{neighbours}
</ul></aside>
</main>
<footer><p>The same bytes every time.</p></footer>
</body>
</html>
"""
