"""Guesses what a page lists: its repeated block, the block's fields, the next page, and the detail pages.

The same page always gives the same suggestion, and every suggested field has been read from that page.
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

from selectolax.lexbor import LexborNode

from shoal.extract.casts import Url, cast
from shoal.extract.document import Node
from shoal.extract.extract_errors import CastError
from shoal.spiders.field_selectors import pick
from shoal.spiders.item import Item
from shoal.spiders.page import Page

MIN_BLOCKS = 3
MAX_ELEMENTS = 20_000
MAX_FIELDS = 8
MIN_SHARE = 0.8
"""The share of blocks that must have a field."""

TYPES: dict[str, type] = {"text": str, "decimal": Decimal, "url": Url, "datetime": datetime}

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCK_TAGS = {"article": 2, "li": 1, "tr": 1, "section": 0, "div": 0, "dl": 0, "a": 0}
"""Rank of a tag: a higher one is more likely the block itself and not something around or in it."""
_NOT_CONTENT = frozenset(("nav", "header", "footer", "aside", "form"))
_SIDE_NAMES = re.compile(
    r"(?:^|[-_])(?:sidebar|widgets?|menu|navbar|navigation|breadcrumbs?|toc|footer|related|recent|popular|promo|ads)"
    r"(?:$|[-_])"
)
"""Classes and ids of what stands beside the content."""
_MAIN = ("main", "[role=main]", "#content", "#main")
"""Elements that have the main content."""
RICH = 2
"""Blocks with fewer kinds of content may be tags or links: then it does not count that they are in the main content."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PRICE = re.compile(r"(?:[$£€¥₹]|\b(?:USD|EUR|GBP|CHF|kr)\b)\s*\d|\d\s*(?:[$£€¥₹]|\b(?:USD|EUR|GBP|CHF|kr|zł)(?!\w))")
_NEXT = ("a[rel~=next]", "li.next a", ".next a", "a.next", ".pagination-next a", "a.pagination-next")
_NEXT_WORDS = frozenset(("next", "next page", "older", "older posts", "weiter", "nächste", "suivant", "siguiente"))
_ARROWS = " »›→>\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class SuggestedField:
    name: str
    css: str
    type: str = "text"
    """A key of TYPES."""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Suggestion:
    fields: tuple[SuggestedField, ...]
    each: str | None = None
    """None: the page has one item."""
    next_page: str | None = None
    details: str | None = None


TEMPLATE = Suggestion((SuggestedField("title", "h1"),), next_page="a[rel~=next]")
"""For a user who has no page yet."""


def suggest_fields(page: Page) -> Suggestion:
    """Raises UnparsablePage."""
    for each, blocks in _repeated(page):
        heading = _heading(blocks)
        if fields := _fields_of(blocks, heading, page.base_url):
            link = f"{heading} a" if heading and _share(blocks, f"{heading} a::attr(href)") >= MIN_SHARE else None
            details = f"{each} {link}" if link else None
            return Suggestion(tuple(fields), each, _next_page(page), details)
    return Suggestion(tuple(_fields_of_page(page)), next_page=_next_page(page))


def _repeated(page: Page) -> list[tuple[str, list[Node]]]:
    """Selectors of repeated elements, the best first."""
    nodes = (node for node in page.css("body *")[:MAX_ELEMENTS] if node.root.tag in _BLOCK_TAGS)
    groups = Counter(selector for node in nodes for selector in _spellings(node))
    main = _main(page)
    found = []
    for selector in (selector for selector, n in groups.items() if n >= MIN_BLOCKS):
        for spelling in (selector, f"{main} {selector}") if main else (selector,):
            blocks = page.css(spelling)
            # A selector that also matches in a navigation or sidebar is dropped, unless the main content has enough.
            if len(blocks) >= MIN_BLOCKS and not any(map(_is_outside_content, blocks)):
                found.append((_weight(blocks, main), spelling, blocks))
                break
    ranked = sorted(found, key=lambda each: each[0], reverse=True)
    return [(selector, blocks) for weight, selector, blocks in ranked if weight[1]]


def _main(page: Page) -> str | None:
    """The selector of the one element that has the main content, if the page has such an element."""
    return next((selector for selector in _MAIN if len(page.css(selector)) == 1), None)


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


def _is_outside_content(node: Node) -> bool:
    place = node.root.parent
    while place is not None:
        if place.tag in _NOT_CONTENT or (place.tag != "body" and _is_side(place)):
            return True
        place = place.parent
    return False


def _is_side(place: LexborNode) -> bool:
    names = f"{place.attributes.get('class') or ''} {place.attributes.get('id') or ''}".lower().split()
    return any(map(_SIDE_NAMES.search, names))


def _weight(blocks: list[Node], main: str | None) -> tuple[bool, int, int, int, int]:
    """Whether a block is in the main content, how many kinds of content it has, how much text, the rank of its tag, and
    the number of blocks."""
    first, text = blocks[0], [node.text for node in blocks]
    looks = (_HEADINGS, ("img",), ("time",), ("a",))
    richness = sum(any(first.css(tag) for tag in tags) for tags in looks)
    richness += sum(bool(_PRICE.search(each)) for each in text) >= MIN_SHARE * len(blocks)
    # A block around several smaller ones has as much text as they have, but there are fewer such blocks.
    amount = int(log2(1 + sum(map(len, text))))
    is_main = main is not None and richness >= RICH and first.root.css_matches(f"{main} *")
    return is_main, richness, amount, _BLOCK_TAGS[first.root.tag or ""], len(blocks)


def _heading(blocks: list[Node]) -> str | None:
    return next((tag for tag in _HEADINGS if _share(blocks, tag) >= MIN_SHARE), None)


def _fields_of(blocks: list[Node], heading: str | None, base_url: str) -> list[SuggestedField]:
    fields: dict[str, SuggestedField] = {}
    for name, selector, kind in _candidates(blocks, heading):
        field = _try_field(blocks, name, selector, kind, base_url)
        if field is not None and name not in fields and len(fields) < MAX_FIELDS:
            fields[name] = field
    return list(fields.values())


def _candidates(blocks: list[Node], heading: str | None) -> Iterator[tuple[str, str, str]]:
    """Names, selectors and types; of several for a name, the best first."""
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
    """Text elements with a class, and prices anywhere."""
    for node in blocks[0].css("*")[1:]:
        if not node.text or any(child.tag != "-text" for child in node.root.iter(include_text=True)):
            continue
        classes = _classes(node)
        selector = f".{classes[0]}" if classes else node.root.tag or ""
        if _PRICE.search(node.text):
            yield "price", selector, "decimal"
        elif classes and not _is_constant(blocks, selector):
            yield re.sub(r"\W", "_", classes[0]).strip("_").lower(), selector, "text"


def _is_constant(blocks: list[Node], selector: str) -> bool:
    return len(set(_firsts(blocks, selector))) == 1


def _try_field(blocks: list[Node], name: str, selector: str, kind: str, base_url: str) -> SuggestedField | None:
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
    return SuggestedField(name, selector, kind, optional=len(values) < len(blocks))


def _firsts(blocks: list[Node], selector: str) -> list[str | None]:
    picked = pick("css", selector)
    return [picked.first(node) for node in blocks]


def _share(blocks: list[Node], selector: str) -> float:
    return sum(bool(value) for value in _firsts(blocks, selector)) / len(blocks)


def _fields_of_page(page: Page) -> Iterator[SuggestedField]:
    root, main = [Node(page.document.root)], _main(page)
    tries = (
        ("title", "h1", "text"),
        ("title", "title", "text"),
        ("description", "meta[name=description]::attr(content)", "text"),
        ("price", "[itemprop=price]::attr(content)", "decimal"),
        *((("price", f"{main} [class*=price]", "decimal"),) if main else ()),
        ("price", "[class*=price]", "decimal"),
        ("published", "time::attr(datetime)", "datetime"),
        ("image", "meta[property='og:image']::attr(content)", "url"),
    )
    named: set[str] = set()
    for name, selector, kind in tries:
        field = _try_field(root, name, selector, kind, page.base_url)
        if field is not None and name not in named:
            named.add(name)
            yield field
    if not named:
        yield SuggestedField("title", "h1", optional=True)


def _next_page(page: Page) -> str | None:
    for selector in _NEXT:
        if any(node.attr("href") for node in page.css(selector)):
            return selector
    for node in page.css("a[href]"):
        text = node.text
        if text.strip(_ARROWS).casefold() in _NEXT_WORDS and not {'"', "'"} & set(text):
            return f"//a[normalize-space()='{text}']"
    return None
