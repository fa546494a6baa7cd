"""Finds duplicate URLs in lists: maps a fingerprint to its first line. An entry takes 24 bytes, in a dict 120."""

from __future__ import annotations

from array import array

_AT_FIRST = 1 << 10


class FirstLines:
    """An open-addressed hash table; fingerprints are hashes already."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._make(_AT_FIRST)
        self._known = 0

    def first_line(self, fingerprint: int, line: int) -> int:
        """The line, counted from 1, where it first occurred: this one if it is new."""
        keys, lines, mask = self._keys, self._lines, self._mask
        slot = fingerprint & mask
        while lines[slot]:
            if keys[slot] == fingerprint:
                return lines[slot]
            slot = slot + 1 & mask
        keys[slot], lines[slot] = fingerprint, line
        self._known += 1
        if 2 * self._known > mask:
            self._grow()
        return line

    def _grow(self) -> None:
        keys, lines = self._keys, self._lines
        self._make(2 * len(keys))
        mask, new_keys, new_lines = self._mask, self._keys, self._lines
        for fingerprint, line in zip(keys, lines, strict=True):
            if line:
                slot = fingerprint & mask
                while new_lines[slot]:
                    slot = slot + 1 & mask
                new_keys[slot], new_lines[slot] = fingerprint, line

    def _make(self, slots: int) -> None:
        self._keys = array("q", bytes(8 * slots))
        self._lines = array("I", bytes(4 * slots))
        self._mask = slots - 1
