"""Fingerprints offered lately, so that the links every page of a site has are not looked up again and again.

Two generations of bounded size over all jobs: when the young one is full, the old one is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

GENERATION = 50_000

Job = TypeVar("Job", int, str)


class Recent(Generic[Job]):
    def __init__(self) -> None:
        self._young: dict[Job, set[int]] = {}
        self._old: dict[Job, set[int]] = {}
        self._n = 0

    def of(self, job: Job) -> tuple[Collection[int], Collection[int]]:
        """What is remembered of the job: two sets to look into."""
        return self._young.get(job, frozenset()), self._old.get(job, frozenset())

    def remember(self, job: Job, fingerprints: Collection[int]) -> None:
        self._young.setdefault(job, set()).update(fingerprints)
        self._n += len(fingerprints)
        if self._n >= GENERATION:
            self._old, self._young, self._n = self._young, {}, 0

    def drop(self, job: Job) -> None:
        self._young.pop(job, None)
        self._old.pop(job, None)

    def clear(self) -> None:
        self._old, self._young, self._n = {}, {}, 0
