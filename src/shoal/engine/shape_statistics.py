"""Learns which shapes of URLs are not worth a request: their pages are noindex, missing, or copies of other pages.

A shape with a few such pages is doubtful: its requests go to the end of the queue. After enough of them, it is useless,
and the rest is dropped, but for a sample that is spread over all of its URLs, and later without one. A useful page
raises these limits. It counts also for the shapes by way of which alone it was found. So a list that is noindex itself
stays in use as long as it leads to pages.

The counts are stored with the job's tallies. So they last over a restart, and the workers of a fleet share them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, IntEnum
from typing import NamedTuple

from shoal.model import LAST, Lease
from shoal.store.crawl.shape_counts import USEFUL_PAGES, USELESS_PAGES
from shoal.urls.url_shapes import shapes_of

ALL = "all"
DOUBTFUL_AFTER = 4
USELESS_AFTER = 20
CERTAIN_AFTER = 80
"""Useless pages, if there was no useful one."""
DOUBTFUL_PER_USEFUL = 1
USELESS_PER_USEFUL = 10
CERTAIN_PER_USEFUL = 40
"""So much each useful page adds to the limit: a shape is useless if less than one page in eleven is useful."""
LEAST_USEFUL_PAGES = 5
"""A host without as many useful pages is not judged: it may ask not to be indexed at all."""
SAMPLE_OF = 16
"""One of so many requests of a useless shape is made nevertheless, before the others are dropped, until it is certain.
"""
NEWS_EVERY_S = 10.0
MOST_SHAPES = 50_000
"""Of a job. Further ones are not learnt."""
ONE_OF_THE_LAST, LAST_OF_ALL = LAST, LAST - 1
"""The frontier serves both after everything else. The requests of the second kind have been passed over once more."""

Changes = dict[tuple[str, str], tuple[int, str | None]]


class Worth(Enum):
    """What a page brought to the crawl."""

    USEFUL = "useful"
    USELESS = "useless"
    UNKNOWN = "unknown"


class Doubt(IntEnum):
    NONE = 0
    DOUBTFUL = 1
    USELESS = 2
    CERTAIN = 3


_LIMITS = (
    (Doubt.CERTAIN, CERTAIN_AFTER, CERTAIN_PER_USEFUL),
    (Doubt.USELESS, USELESS_AFTER, USELESS_PER_USEFUL),
    (Doubt.DOUBTFUL, DOUBTFUL_AFTER, DOUBTFUL_PER_USEFUL),
)


class Verdict(NamedTuple):
    doubt: Doubt
    shape: str = ""


class ShapeStatistics:
    """Of one job."""

    def __init__(self, allowed: Iterable[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        """A URL of an allowed shape is never doubted, whatever its other shapes; `all`: none is."""
        self._allowed = frozenset(allowed)
        self._useless: Counter[str] = Counter()
        self._useful: Counter[str] = Counter()
        self._stored: dict[tuple[str, str], int] = {}
        """Counts as they are stored, or about to be. The others are too many, and mean too little."""
        self._changes: Changes = {}
        self._doubted: set[str] = set()
        self.has_news = False
        """A shape became doubtful, useless or useful: other workers should know."""
        self._clock = clock
        self._next_news_at = 0.0

    @property
    def is_learning(self) -> bool:
        return ALL not in self._allowed

    def load(self, stored: Mapping[tuple[str, str], int]) -> None:
        """Takes over the stored counts, in which those of other workers are."""
        for (kind, key), n in stored.items():
            counts = self._useless if kind == USELESS_PAGES else self._useful
            counts[key] = n + self._changes.get((kind, key), (0, None))[0]
            self._stored[kind, key] = counts[key]
        self._doubted = {key for key in self._useless if self._doubt(key)}

    def take_changes(self) -> Changes:
        """What to add to the stored counts."""
        changes, self._changes = self._changes, {}
        return changes

    def take_news(self) -> bool:
        """Whether to call the other workers now. Not often: a job of many hosts learns something all the time."""
        if not self.has_news or self._clock() < self._next_news_at:
            return False
        self.has_news, self._next_news_at = False, self._clock() + NEWS_EVERY_S
        return True

    def verdict(self, host: str, url: str) -> Verdict:
        """Names the most special of the shapes that are to blame: the one with the fewest pages."""
        if not self._doubted or self._useful[host] < LEAST_USEFUL_PAGES:
            return Verdict(Doubt.NONE)
        shapes = shapes_of(url)
        doubted = [shape for shape in shapes if f"{host} {shape}" in self._doubted]
        if not doubted or not self._allowed.isdisjoint(shapes):
            return Verdict(Doubt.NONE)
        doubts = [(self._doubt(f"{host} {shape}"), -self._useless[f"{host} {shape}"], shape) for shape in doubted]
        doubt, _, shape = max(doubts)
        return Verdict(doubt, shape)

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
            self._store(USEFUL_PAGES, host, url)
        for shape in {*shapes_of(url), *found_by}:
            self._note_useful(f"{host} {shape}", url)

    def _note_useless(self, key: str, url: str) -> None:
        if not self._has_room(key):
            return
        before = self._doubt(key)
        self._useless[key] += 1
        if self._useful[key] or self._useless[key] >= DOUBTFUL_AFTER:
            self._store(USELESS_PAGES, key, url)
            self._store(USEFUL_PAGES, key, url)
        self._note_doubt(key, before)

    def _note_useful(self, key: str, url: str) -> None:
        if not self._has_room(key):
            return
        before = self._doubt(key)
        self._useful[key] = n = self._useful[key] + 1
        # Most shapes have useful pages only. To store them once each time their number doubles is exact enough.
        if self._useless[key] or n & (n - 1) == 0:
            self._store(USEFUL_PAGES, key, url)
        self._note_doubt(key, before)

    def _note_doubt(self, key: str, before: Doubt) -> None:
        now = self._doubt(key)
        if now is before:
            return
        self.has_news = True
        if now is Doubt.NONE:
            self._doubted.discard(key)
        else:
            self._doubted.add(key)

    def _store(self, kind: str, key: str, url: str) -> None:
        counts = self._useless if kind == USELESS_PAGES else self._useful
        more = counts[key] - self._stored.get((kind, key), 0)
        if more:
            self._stored[kind, key] = counts[key]
            before, sample = self._changes.get((kind, key), (0, url))
            self._changes[kind, key] = before + more, sample

    def _has_room(self, key: str) -> bool:
        return len(self._useless) + len(self._useful) < MOST_SHAPES or key in self._useless or key in self._useful

    def _doubt(self, key: str) -> Doubt:
        useful, useless = self._useful[key], self._useless[key]
        if useless < DOUBTFUL_AFTER:
            return Doubt.NONE
        return next((doubt for doubt, least, more in _LIMITS if useless >= least + more * useful), Doubt.NONE)


def is_sample(lease: Lease) -> bool:
    """The same requests for every worker."""
    return lease.target.fingerprint % SAMPLE_OF == 0
