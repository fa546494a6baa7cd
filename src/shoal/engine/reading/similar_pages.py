"""Remembers what the last pages of a job said, to recognise a version that hardly differs from another one, and a page
that shows a part of a version once more.

Git browsers name a version by its digest, and show every file at every commit, and each commit in many views. Each page
is known by a sample of its phrases. Phrases that many pages of a host have, such as those of a menu, say nothing about
a page and are left out.
"""

from __future__ import annotations

import re
from collections import Counter

VERSION = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-f])")
"""A digest in a URL: SHA-1 or SHA-256."""
LEAST_PAGES = 8
"""Of a host. Before, nobody knows what its menu is."""
MENU_SHARE = 1 / 4
"""A phrase that more of a host's pages have belongs to its menu."""
SAMPLE = 24
"""Phrases of a page: those with the lowest hashes, so that alike pages have alike samples."""
ALIKE = 3 / 4
"""The share of the sample that another page has."""
SHOWN = 0.6
"""The share of a page's own phrases that other pages of the same version had. It is less, because each view has labels
of its own."""
MOST_CHARS = 16_000
"""The rest of a longer page is not compared: 0.5 ms are enough."""
LEAST_CHARS = 4
GENERATION = 50_000
"""The phrases of the last two generations are known, in 20 MB at most."""
_MOST_PAGES = 8
"""Of a phrase: the last ones."""
_BETWEEN = re.compile(r"\s*[\n.,;:!?(){}\[\]<>|=+-]\s*")
"""A line is too coarse: the text of a table or a difference may have no line breaks."""
_HARD_BLANK = "\xa0"
_Page = tuple[int, int]
"""Its number, and the size of its sample."""


class SimilarPages:
    """Of one process. Another one of the job learns its own."""

    def __init__(self) -> None:
        self._hosts: set[str] = set()
        """Those with versions. Pages of others are not compared."""
        self._page = 0
        self._counts: dict[int, int] = {}
        """The hash of a phrase -> how many pages had it."""
        self._old_counts: dict[int, int] = {}
        self._pages: dict[int, tuple[_Page, ...]] = {}
        """The hash of a phrase in samples -> the last pages that had it."""
        self._old_pages: dict[int, tuple[_Page, ...]] = {}

    def is_like_another(self, host: str, url: str, text: str) -> bool | None:
        """Whether the page was there before, but for a few phrases. None: the URL names no version. Notes what the page
        says, too."""
        versions = VERSION.findall(url)
        if versions:
            self._hosts.add(host)
        if host not in self._hosts:
            return None
        pages, own = self._own_phrases(host, text)
        sample = sorted(own)[:SAMPLE]
        common = Counter(other for key in sample for other in self._noted(key, len(sample)))
        is_alike = any(n >= ALIKE * max(size, len(sample)) for (_, size), n in common.items()) or not own
        shown = max((self._known_of(version, own) for version in versions), default=0)
        if not versions:
            return None
        return pages >= LEAST_PAGES and (is_alike or shown >= SHOWN * len(own))

    def _known_of(self, version: str, own: list[int]) -> int:
        """How many of the phrases other pages of the same version had."""
        return sum(self._count(hash((version, key))) > 0 for key in own)

    def _own_phrases(self, host: str, text: str) -> tuple[int, list[int]]:
        """How many pages the host had before, and the hashes of the phrases that are not of its menu."""
        if len(self._counts) >= GENERATION:
            self._counts, self._old_counts = {}, self._counts
            self._pages, self._old_pages = {}, self._pages
        self._page += 1
        pages = self._count(hash(host))
        phrases = set(_BETWEEN.split(text[:MOST_CHARS].replace(_HARD_BLANK, " ")))
        keys = [hash((host, phrase)) for phrase in phrases if len(phrase) >= LEAST_CHARS]
        menu = pages * MENU_SHARE
        return pages, [key for key in keys if self._count(key) <= menu]

    def _count(self, key: int) -> int:
        """How many pages had it before this one."""
        n = self._counts.get(key) or self._old_counts.get(key, 0)
        self._counts[key] = n + 1
        return n

    def _noted(self, key: int, size: int) -> tuple[_Page, ...]:
        """The pages that had it in their sample before this one, whose sample has this size."""
        pages = self._pages.get(key) or self._old_pages.get(key, ())
        self._pages[key] = (*pages[1 - _MOST_PAGES :], (self._page, size))
        return pages
