"""Learns which shapes of URLs are not worth a request: their pages are noindex, missing, or copies of other pages.

A shape with a few such pages and no other is doubtful: its requests go to the end of the queue. After enough of them,
it is useless, and the rest is dropped, but for a sample that is spread over all of its URLs. One useful page clears a
shape for good, and so does a page that was found only by way of it. So a list that is noindex itself stays in use as
long as it leads to pages. A host with hardly a useful page may ask not to be indexed at all: its shapes are only
suspected, and each of their requests is put off once.

The counts last over a restart, and the workers of a fleet share them (`learnt_counts.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum
from typing import NamedTuple

from shoal.engine.learnt_counts import LearntCounts
from shoal.model import LAST, Lease
from shoal.store.crawl.learnt_counts import USEFUL_PAGES, USELESS_PAGES
from shoal.urls.url_shapes import shapes_of

ALL = "all"
DOUBTFUL_AFTER = 4
USELESS_AFTER = 20
LEAST_USEFUL_PAGES = 5
"""At a host without as many useful pages, shapes are only suspected."""
SAMPLE_OF = 16
"""One of so many requests of a useless shape is made nevertheless, before the others are dropped."""
OFTEN = 3
MOST_SHAPES = 50_000
"""Of a job. Further ones are not learnt."""
ONE_OF_THE_LAST, LAST_OF_ALL = LAST, LAST - 1
"""The frontier serves both after everything else. The requests of the second kind have been passed over once more."""


class Worth(Enum):
    """What a page brought to the crawl."""

    USEFUL = "useful"
    USELESS = "useless"
    UNKNOWN = "unknown"


class Doubt(IntEnum):
    NONE = 0
    SUSPECTED = 1
    DOUBTFUL = 2
    USELESS = 3


class Verdict(NamedTuple):
    doubt: Doubt
    shape: str = ""


class ShapeStatistics:
    """Of one job."""

    def __init__(self, learnt: LearntCounts, allowed: Iterable[str] = ()) -> None:
        """A URL of an allowed shape is never doubted, whatever its other shapes; `all`: none is."""
        self.learnt = learnt
        self._allowed = frozenset(allowed)
        self._useless: Counter[str] = Counter()
        self._useful: Counter[str] = Counter()
        self._stored: set[tuple[str, str]] = set()
        """Counts that are stored, or about to be. The others are too many, and mean too little."""
        self._doubted: set[str] = set()

    @property
    def is_learning(self) -> bool:
        return ALL not in self._allowed

    def load(self, stored: Mapping[tuple[str, str], int]) -> None:
        """Takes over the stored counts, in which those of other workers are."""
        counts = {USELESS_PAGES: self._useless, USEFUL_PAGES: self._useful}
        for (kind, key), n in stored.items():
            if kind in counts:
                counts[kind][key] = n + self.learnt.unsaved(kind, key)
                self._stored.add((kind, key))
        for kind, key in stored:
            if kind == USELESS_PAGES and self._useful[key]:
                # Other workers doubt the shape. They have not seen the useful pages that were seen here.
                self._store_useful(key, None)
        self._doubted = {key for key in self._useless if self._doubt(key)}

    def verdict(self, host: str, url: str) -> Verdict:
        """Names the most special of the shapes that are to blame: the one with the fewest pages."""
        if not self._doubted:
            return Verdict(Doubt.NONE)
        shapes = shapes_of(url)
        doubted = [shape for shape in shapes if f"{host} {shape}" in self._doubted]
        if not doubted or not self._allowed.isdisjoint(shapes):
            return Verdict(Doubt.NONE)
        doubts = [(self._doubt(f"{host} {shape}"), -self._useless[f"{host} {shape}"], shape) for shape in doubted]
        doubt, _, shape = max(doubts)
        return Verdict(doubt if self._useful[host] >= LEAST_USEFUL_PAGES else Doubt.SUSPECTED, shape)

    def learn(self, host: str, url: str, worth: Worth, found_by: Iterable[str] = ()) -> None:
        """`found_by` are the shapes of the useless pages that led to it."""
        if worth is Worth.UNKNOWN or not self.is_learning:
            return
        if worth is Worth.USELESS:
            for shape in shapes_of(url):
                self._note_useless(f"{host} {shape}", url)
            return
        if self._useful[host] < LEAST_USEFUL_PAGES:
            self._useful[host] += 1
            self._add(USEFUL_PAGES, host, 1, url)
        for shape in shapes_of(url):
            self._note_useful(f"{host} {shape}", url)
        for shape in found_by:
            # Each has a useless page, which another worker may have read.
            self._note_useful(f"{host} {shape}", url, may_be_doubted=True)

    def _note_useless(self, key: str, url: str) -> None:
        if not self._has_room(key):
            return
        self._useless[key] += 1
        n = self._useless[key]
        if self._useful[key]:
            # Without a sample: this page is not one of them.
            self._store_useful(key, None)
        elif n >= DOUBTFUL_AFTER:
            is_stored = (USELESS_PAGES, key) in self._stored
            self._add(USELESS_PAGES, key, 1 if is_stored else n, url)
            self._doubted.add(key)
            self.learnt.has_news |= n in (DOUBTFUL_AFTER, USELESS_AFTER)

    def _note_useful(self, key: str, url: str, may_be_doubted: bool = False) -> None:
        if not self._has_room(key):
            return
        self._useful[key] += 1
        if may_be_doubted or self._useless[key] or self._useful[key] >= OFTEN:
            self._store_useful(key, url)
        if key in self._doubted:
            self._doubted.discard(key)
            self.learnt.has_news = True

    def _store_useful(self, key: str, url: str | None) -> None:
        if (USEFUL_PAGES, key) not in self._stored:
            self._add(USEFUL_PAGES, key, self._useful[key], url)

    def _add(self, kind: str, key: str, n: int, url: str | None) -> None:
        self._stored.add((kind, key))
        self.learnt.add(kind, key, n, url)

    def _has_room(self, key: str) -> bool:
        return len(self._useless) + len(self._useful) < MOST_SHAPES or key in self._useless or key in self._useful

    def _doubt(self, key: str) -> Doubt:
        if self._useful[key]:
            return Doubt.NONE
        n = self._useless[key]
        return Doubt.USELESS if n >= USELESS_AFTER else Doubt.DOUBTFUL if n >= DOUBTFUL_AFTER else Doubt.NONE


def is_sample(lease: Lease) -> bool:
    """The same requests for every worker."""
    return lease.target.fingerprint % SAMPLE_OF == 0
