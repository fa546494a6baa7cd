"""Remembers how links were resolved, and which of them were offered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import filterfalse
from typing import TYPE_CHECKING

from shoal.urls.href_hashes import HrefHashes
from shoal.urls.traps.url_growth import MAX_CHARS

if TYPE_CHECKING:
    from shoal.urls.resolve_links import Link

WORTH_HASHING = 32
"""Of a place with fewer links than this, the cache forgets them when it is cleared."""


class LinkCache:
    """Links by place and href. A place is the part of a base on which the meaning of an href depends.

    A full cache is cleared: resolving the links of a menu again costs less than tracking which are used often. It is
    cleared only between pages, because a page uses its tables. The hrefs of links that are known to be offered are kept
    separately as well: most hrefs of a page are among them, and need no lookup of their link. Of those that were
    cleared, it keeps the hashes.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.clear()

    def clear(self) -> None:
        self._cleared: HrefHashes | None = None
        self._late: list[tuple[str, set[str]]] = []
        self._clear_tables()

    def _clear_tables(self) -> None:
        self._tables: dict[str, dict[str, Link]] = {}
        self._offered: dict[str, set[str]] = {}
        self._held = 0

    def make_room(self) -> None:
        if self.room:
            return
        self._cleared = self._cleared or HrefHashes()
        # Also those that were offered after the last time: pages that were not saved then still have their links.
        large = [(place, hrefs) for place, hrefs in self._offered.items() if len(hrefs) >= WORTH_HASHING]
        for place, hrefs in (*self._late, *large):
            self._cleared.add(place, hrefs)
            hrefs.clear()
        self._late = large
        self._clear_tables()

    def of(self, place: str) -> dict[str, Link]:
        table = self._tables.get(place)
        if table is None:
            table = self._tables[place] = {}
            self._held += 1
        return table

    def without_offered(self, places: Sequence[str], hrefs: Sequence[str]) -> Sequence[str]:
        for place in places:
            if offered := self._offered.get(place):
                hrefs = list(filterfalse(offered.__contains__, hrefs))
        return self._cleared.without(places, hrefs) if self._cleared is not None and hrefs else hrefs

    def offered_at(self, place: str) -> set[str]:
        return self._offered.setdefault(place, set())

    @property
    def room(self) -> int:
        return max(0, self._capacity - self._held)

    def put(self, place: str, href: str, link: Link) -> None:
        # Longer than any link we follow (for example a picture in a data: URL) is not worth the memory.
        if self.room and len(href) <= MAX_CHARS:
            link.href, link.offered_hrefs = href, self.offered_at(place)
            self.put_all(place, {href: link})

    def put_all(self, place: str, links: dict[str, Link]) -> None:
        """Adds no more than there is room for."""
        self._tables[place].update(links)
        self._held += len(links)
