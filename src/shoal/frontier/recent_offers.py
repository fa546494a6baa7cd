"""Fingerprints offered lately, so that the links every page of a site has are not sent, or kept, again and again.

Two generations of bounded size over all jobs: when the young one is full, the old one is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection

GENERATION = 50_000


class RecentOffers:
    def __init__(self) -> None:
        self._young: dict[str, set[int]] = {}
        self._old: dict[str, set[int]] = {}
        self._n = 0

    def of(self, job: str) -> tuple[Collection[int], Collection[int]]:
        """What is remembered of the job: two sets to look into."""
        return self._young.get(job, frozenset()), self._old.get(job, frozenset())

    def remember(self, job: str, fingerprints: Collection[int]) -> None:
        self._young.setdefault(job, set()).update(fingerprints)
        self._n += len(fingerprints)
        if self._n >= GENERATION:
            self._old, self._young, self._n = self._young, {}, 0

    def drop(self, job: str) -> None:
        self._young.pop(job, None)
        self._old.pop(job, None)

    def clear(self) -> None:
        self._old, self._young, self._n = {}, {}, 0
