"""Finds the selectors that matched on none of the pages on which an extraction tried them."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.store.crawl.save_batch import SelectorUse
from shoal.store.results.job_figures import UnmatchedSelector

MOST_SELECTORS = 1_000
"""A spider may make new ones for every page."""


class UnmatchedSelectors:
    def __init__(self) -> None:
        self._tried: dict[SelectorUse, UnmatchedSelector] = {}
        self._matched: set[SelectorUse] = set()

    def note(self, matches: Mapping[SelectorUse, bool], url: str) -> None:
        for used, found in matches.items():
            if found:
                self._matched.add(used)
            elif used in self._tried:
                tried = self._tried[used]
                self._tried[used] = UnmatchedSelector(*used, tried.pages + 1, tried.sample)
            elif len(self._tried) < MOST_SELECTORS:
                self._tried[used] = UnmatchedSelector(*used, 1, url)

    def found(self) -> list[UnmatchedSelector]:
        """Most pages first."""
        unmatched = [tried for used, tried in self._tried.items() if used not in self._matched]
        return sorted(unmatched, key=lambda one: -one.pages)
