"""Hrefs by their hashes: a set that takes 8 bytes for each, so that it remembers most of a million.

Python's hash of a text has 64 bits, as many as a fingerprint, and a key of the process's own: two hrefs are confused as
seldom as two requests. Each hash has three slots that it may be in, and takes the first one that is free. If none is,
it replaces what is in the last one.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence

MOST_SLOTS = 1 << 21
"""16 MB. A power of two, as the number of slots always is."""
_FIRST_SLOTS = 1 << 12
_GROWTH = 8
_SECOND, _THIRD = 21, 42
"""The bits of a hash that its other slots depend on."""
_MOST_PLACES = 1_000


class HrefHashes:
    """An href belongs to a place: the part of a page's URL on which its meaning depends."""

    def __init__(self, most_slots: int = MOST_SLOTS) -> None:
        self._most_slots = most_slots
        self._slots = _empty(min(_FIRST_SLOTS, most_slots))
        self._n = 0
        self._places: set[str] = set()

    def add(self, place: str, hrefs: Collection[str]) -> None:
        if place not in self._places and len(self._places) == _MOST_PLACES:
            return
        self._places.add(place)
        self._n += len(hrefs)
        while 2 * self._n > len(self._slots) < self._most_slots:
            self._grow()
        of_place = _hash_of(place)
        self._put([hash(href) ^ of_place for href in hrefs])

    def without(self, places: Iterable[str], hrefs: Sequence[str]) -> Sequence[str]:
        """The hrefs that it has in none of these places."""
        slots, last = self._slots, len(self._slots) - 1
        for place in self._places.intersection(places):
            of_place = _hash_of(place)
            hrefs = [
                href
                for href in hrefs
                # No slot becomes free again: a hash whose first one is free is in none.
                if not (there := slots[(key := hash(href) ^ of_place) & last])
                or (there != key and slots[key >> _SECOND & last] != key and slots[key >> _THIRD & last] != key)
            ]
        return hrefs

    def _grow(self) -> None:
        old, self._slots = self._slots, _empty(min(_GROWTH * len(self._slots), self._most_slots))
        self._put(filter(None, old))

    def _put(self, keys: Iterable[int]) -> None:
        slots, last = self._slots, len(self._slots) - 1
        for key in keys:
            at = key & last
            if slots[at]:
                at = key >> _SECOND & last
                if slots[at]:
                    at = key >> _THIRD & last
            slots[at] = key


def _hash_of(place: str) -> int:
    # Not that of the text: an href may be the same text, and their key would be that of a free slot.
    return hash((place,))


def _empty(slots: int) -> array[int]:
    return array("q", [0]) * slots
