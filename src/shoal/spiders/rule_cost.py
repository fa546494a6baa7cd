"""Estimates whether rules are cheap on a page. Only then do their selectors run in the crawl's own process.

All other rules run in a reader process, which can be killed. The estimate is an upper bound for every page with that
many tags and that depth, so an ordinary page may be far faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from shoal.extract.document import tags_if_small
from shoal.extract.extract_errors import UnparsablePage
from shoal.extract.selector_cost import Growth, growth_of, is_deeper, visit_seconds
from shoal.spiders.field_selectors import Pick, pick_by_spelling
from shoal.spiders.item import Item
from shoal.spiders.item_reader import item_reader_for
from shoal.spiders.page import Page
from shoal.spiders.spider import Spider

CHEAP_S = 0.2
DEPTHS = (48, 24, 12)
"""Possible depths of a page, the deepest first; one look at the page tells whether it is deeper."""
MOST_JSON_BYTES = 256 * 1024
_ROUNDED = 64
"""The number of elements is rounded up to a multiple of this, so that few pages need a new calculation."""


@dataclass(frozen=True, slots=True)
class _Pick:
    growth: Growth
    levels: int
    """How many selectors have chosen the element in which this one searches."""


@dataclass(frozen=True, slots=True)
class PageCost:
    """The selectors of the rules for one kind of page."""

    picks: tuple[_Pick, ...]
    reads_json: bool

    def depth_for(self, elements: int) -> int | None:
        """How deep a page with so many elements may be for these to be cheap; None: never cheap."""
        return _depth_for(self, -(-elements // _ROUNDED) * _ROUNDED)

    def cheap_depth(self, elements: int) -> int | None:
        return next((depth for depth in DEPTHS if self._seconds(elements, depth) <= CHEAP_S), None)

    def _seconds(self, elements: int, depth: int) -> float:
        return sum(
            pick.growth.within(pick.levels).seconds(elements, depth) + visit_seconds(elements, depth, pick.levels)
            for pick in self.picks
        )


@lru_cache(4_096)
def _depth_for(cost: PageCost, elements: int) -> int | None:
    return cost.cheap_depth(elements)


def cost_of(makes: Sequence[tuple[str | None, type[Item]]], follows: Sequence[str]) -> PageCost:
    """`makes` and `follows` as for the callback."""
    picks = [(pick_by_spelling(selector), 0) for selector in follows]
    for each, cls in makes:
        if each is not None:
            picks.append((pick_by_spelling(each), 0))
        picks += _fields(cls, 0 if each is None else 1)
    reads_json = any(pick.kind == "jsonpath" for pick, _ in picks)
    # Values found without `..` are never inside each other.
    is_flat = reads_json and not any(".." in pick.text for pick, _ in picks)
    found = (_Pick(growth_of(pick.kind, pick.text), 0 if is_flat else levels) for pick, levels in picks)
    return PageCost(tuple(found), reads_json)


def is_cheap(spider: Spider, callback: str, page: Page) -> bool:
    """For a spider made of rules."""
    cost = spider.costs.get(callback)
    if cost is None:
        # There is no such callback, which is quickly found out.
        return True
    body = page.html or page.body
    if cost.reads_json:
        values = body.count(b",") + body.count(b"[") + body.count(b"{")
        return len(body) <= MOST_JSON_BYTES and cost.depth_for(values) is not None
    tags = tags_if_small(body)
    depth = None if tags is None else cost.depth_for(tags)
    if depth is None:
        return False
    try:
        return not is_deeper(page.document.root, depth)
    except UnparsablePage:
        # This process will not parse it either.
        return True


def _fields(cls: type[Item], levels: int) -> Iterator[tuple[Pick, int]]:
    for slot in item_reader_for(cls).slots:
        yield slot.pick, levels
        if issubclass(slot.to, Item):
            yield from _fields(slot.to, levels + 1)
    yield from ((slot.pick, 0) for slot in item_reader_for(cls).page_slots)
