"""The site every contender crawls: pages of about 22 KB with 72 links each, always the same bytes.

A page's links are what a shop's or a paper's are: a menu that all pages share, neighbours that nearby pages share, and
others anywhere on the site. Page i also links to pages 2i+1 and 2i+2, so that the front page reaches every page.
"""

from __future__ import annotations

import random
import shutil
from itertools import product
from pathlib import Path

MENU = 24
NEIGHBOURS = 20
"""Also how many pages share them."""
CHILDREN = 2
ANYWHERE = 26
LINKS = MENU + NEIGHBOURS + CHILDREN + ANYWHERE
WORDS_PER_PARAGRAPH = 66
"""Chosen for pages of 22 KB."""

_SYLLABLES = (
    "ba",
    "con",
    "de",
    "fir",
    "gal",
    "ho",
    "in",
    "jor",
    "ka",
    "lem",
    "mo",
    "ner",
    "os",
    "pa",
    "ri",
    "sol",
    "tu",
)
_VOCABULARY = [*_SYLLABLES, *map("".join, product(_SYLLABLES, repeat=2)), *map("".join, product(_SYLLABLES, repeat=3))]


def build(root: Path, pages: int) -> None:
    """Writes the site below `root`, in place of whatever was there."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    menu = "\n".join(f"<li>{_link(place * pages // MENU, f'Part {place}')}</li>" for place in range(MENU))
    for number in range(pages):
        (root / _file(number)).write_text(_page(number, pages, menu), encoding="ascii")


def _file(number: int) -> str:
    return f"{number:06}.html" if number else "index.html"


def _page(number: int, pages: int, menu: str) -> str:
    chance = random.Random(number)
    first = number - number % NEIGHBOURS
    neighbours = (_link((first + step) % pages, _words(chance, 4)) for step in range(NEIGHBOURS))
    children = ((2 * number + step) % pages for step in range(1, CHILDREN + 1))
    anywhere = (chance.randrange(pages) for _ in range(ANYWHERE))
    return _FRAME.format(
        title=f"{_words(chance, 4).capitalize()} {number}",
        menu=menu,
        article="\n".join(_paragraph(chance, target) for target in (*children, *anywhere)),
        neighbours="\n".join(f"<li>{link}</li>" for link in neighbours),
    )


def _paragraph(chance: random.Random, target: int) -> str:
    half = WORDS_PER_PARAGRAPH // 2
    link = _link(target, _words(chance, 3))
    return f"<h2>{_words(chance, 3)}</h2>\n<p>{_words(chance, half)} {link} <em>{_words(chance, half)}</em>.</p>"


def _link(target: int, text: str) -> str:
    return f'<a class="internal" href="/{_file(target) if target else ""}">{text}</a>'


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(_VOCABULARY, k=count))


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
