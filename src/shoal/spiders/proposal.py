"""A modest guess at what a page lists: its repeated block, the block's fields, the next page, the detail pages.

The same page always gives the same proposal, and every field in it has been read from that page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from keyword import iskeyword
from math import log2

from shoal.extract.casts import Url, cast
from shoal.extract.document import Node
from shoal.extract.faults import CastError
from shoal.spiders.item import Item
from shoal.spiders.page import Page
from shoal.spiders.picks import pick

MIN_BLOCKS = 3
MAX_ELEMENTS = 20_000
MAX_FIELDS = 8
MIN_SHARE = 0.8
"""Of the blocks that must have a field."""

TYPES: dict[str, type] = {"text": str, "decimal": Decimal, "url": Url, "datetime": datetime}

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCK_TAGS = {"article": 2, "li": 1, "tr": 1, "section": 0, "div": 0, "dl": 0, "a": 0}
"""The higher, the rather it is the block itself and not something around or in it."""
_APART = frozenset(("nav", "header", "footer", "aside", "form"))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PRICE = re.compile(r"(?:[$£€¥₹]|\b(?:USD|EUR|GBP|CHF|kr)\b)\s*\d|\d\s*(?:[$£€¥₹]|\b(?:USD|EUR|GBP|CHF|kr|zł)(?!\w))")
_NEXT = ("a[rel~=next]", "li.next a", ".next a", "a.next", ".pagination-next a", "a.pagination-next")
_NEXT_WORDS = frozenset(("next", "next page", "older", "older posts", "weiter", "nächste", "suivant", "siguiente"))
_ARROWS = " »›→>\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class ProposedField:
    name: str
    css: str
    type: str = "text"
    """A key of TYPES."""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    fields: tuple[ProposedField, ...]
    each: str | None = None
    """None: the page gives one item."""
    next_page: str | None = None
    details: str | None = None


TEMPLATE = Proposal((ProposedField("title", "h1"),), next_page="a[rel~=next]")
"""For whoever has no page yet."""


def propose(page: Page) -> Proposal:
    """Raises TwistedPage."""
    for each, blocks in _repeated(page):
        heading = _heading(blocks)
        if fields := _fields_of(blocks, heading, page.base_url):
            link = f"{heading} a" if heading and _share(blocks, f"{heading} a::attr(href)") >= MIN_SHARE else None
            details = f"{each} {link}" if link else None
            return Proposal(tuple(fields), each, _next_page(page), details)
    return Proposal(tuple(_fields_of_page(page)), next_page=_next_page(page))


def _repeated(page: Page) -> list[tuple[str, list[Node]]]:
    """Selectors of what is repeated on the page, the best first."""
    nodes = (node for node in page.css("body *")[:MAX_ELEMENTS] if node.root.tag in _BLOCK_TAGS)
    groups = Counter(selector for node in nodes for selector in _spellings(node))
    found = []
    for selector in (selector for selector, n in groups.items() if n >= MIN_BLOCKS):
        blocks = page.css(selector)
        # What cannot be told from the same in a navigation is left out altogether.
        if not any(map(_is_apart, blocks)):
            found.append((_weight(blocks), selector, blocks))
    ranked = sorted(found, key=lambda each: each[0], reverse=True)
    return [(selector, blocks) for weight, selector, blocks in ranked if weight[0]]


def _spellings(node: Node) -> Iterator[str]:
    tag = node.root.tag
    if own := _classes(node):
        yield from (f"{tag}.{name}" for name in own)
        return
    parent = node.root.parent
    if parent is not None and (around := _classes(Node(parent))):
        yield f"{parent.tag}.{around[0]} > {tag}"


def _classes(node: Node) -> list[str]:
    return [name for name in (node.attr("class") or "").split() if _NAME.fullmatch(name)]


def _is_apart(node: Node) -> bool:
    place = node.root.parent
    while place is not None:
        if place.tag in _APART:
            return True
        place = place.parent
    return False


def _weight(blocks: list[Node]) -> tuple[int, int, int, int]:
    """How many kinds of things a block has, how much they say in all, how much like a block it looks, their number."""
    first, text = blocks[0], [node.text for node in blocks]
    looks = (_HEADINGS, ("img",), ("time",), ("a",))
    richness = sum(any(first.css(tag) for tag in tags) for tags in looks)
    richness += sum(bool(_PRICE.search(each)) for each in text) >= MIN_SHARE * len(blocks)
    # A block that holds several of the smaller ones says as much as they do, but there are fewer of it.
    said = int(log2(1 + sum(map(len, text))))
    return richness, said, _BLOCK_TAGS[first.root.tag or ""], len(blocks)


def _heading(blocks: list[Node]) -> str | None:
    return next((tag for tag in _HEADINGS if _share(blocks, tag) >= MIN_SHARE), None)


def _fields_of(blocks: list[Node], heading: str | None, base_url: str) -> list[ProposedField]:
    fields: dict[str, ProposedField] = {}
    for name, selector, kind in _candidates(blocks, heading):
        field = _tried(blocks, name, selector, kind, base_url)
        if field is not None and name not in fields and len(fields) < MAX_FIELDS:
            fields[name] = field
    return list(fields.values())


def _candidates(blocks: list[Node], heading: str | None) -> Iterator[tuple[str, str, str]]:
    """Names, selectors and types, the better of a name first."""
    if heading:
        yield from (("title", f"{heading}{rest}", "text") for rest in (" a::attr(title)", " a", ""))
        yield "url", f"{heading} a::attr(href)", "url"
    yield from _leaves(blocks)
    if not heading:
        yield "title", "a", "text"
    yield "url", "a::attr(href)", "url"
    yield "image", "img::attr(src)", "url"
    yield "published", "time::attr(datetime)", "datetime"


def _leaves(blocks: list[Node]) -> Iterator[tuple[str, str, str]]:
    """Texts under a class of their own, and prices wherever they stand."""
    for node in blocks[0].css("*")[1:]:
        if not node.text or any(child.tag != "-text" for child in node.root.iter(include_text=True)):
            continue
        classes = _classes(node)
        selector = f".{classes[0]}" if classes else node.root.tag or ""
        if _PRICE.search(node.text):
            yield "price", selector, "decimal"
        elif classes and not _says_the_same(blocks, selector):
            yield re.sub(r"\W", "_", classes[0]).strip("_").lower(), selector, "text"


def _says_the_same(blocks: list[Node], selector: str) -> bool:
    return len(set(_firsts(blocks, selector))) == 1


def _tried(blocks: list[Node], name: str, selector: str, kind: str, base_url: str) -> ProposedField | None:
    if not re.fullmatch(r"[a-z]\w*", name) or iskeyword(name) or hasattr(Item, name):
        return None
    values = [value for value in _firsts(blocks, selector) if value]
    if len(values) < MIN_SHARE * len(blocks):
        return None
    try:
        for value in values:
            cast(value, TYPES[kind], base_url=base_url)
    except CastError:
        return None
    return ProposedField(name, selector, kind, optional=len(values) < len(blocks))


def _firsts(blocks: list[Node], selector: str) -> list[str | None]:
    picked = pick("css", selector)
    return [picked.first(node) for node in blocks]


def _share(blocks: list[Node], selector: str) -> float:
    return sum(bool(value) for value in _firsts(blocks, selector)) / len(blocks)


def _fields_of_page(page: Page) -> Iterator[ProposedField]:
    whole = [Node(page.document.root)]
    tries = (
        ("title", "h1", "text"),
        ("title", "title", "text"),
        ("description", "meta[name=description]::attr(content)", "text"),
        ("price", "[itemprop=price]::attr(content)", "decimal"),
        ("price", "[class*=price]", "decimal"),
        ("published", "time::attr(datetime)", "datetime"),
        ("image", "meta[property='og:image']::attr(content)", "url"),
    )
    named: set[str] = set()
    for name, selector, kind in tries:
        field = _tried(whole, name, selector, kind, page.base_url)
        if field is not None and name not in named:
            named.add(name)
            yield field
    if not named:
        yield ProposedField("title", "h1", optional=True)


def _next_page(page: Page) -> str | None:
    for selector in _NEXT:
        if any(node.attr("href") for node in page.css(selector)):
            return selector
    for node in page.css("a[href]"):
        text = node.text
        if text.strip(_ARROWS).casefold() in _NEXT_WORDS and not {'"', "'"} & set(text):
            return f"//a[normalize-space()='{text}']"
    return None
