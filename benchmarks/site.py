"""Common to all sites: numbered pages of about 22 KB, made-up words, always the same bytes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

Href = Callable[[int], str]
"""Makes the link to the page with this number."""

_SOUNDS = ["ba", "con", "de", "fir", "gal", "ho", "in", "jor", "ka", "lem", "mo", "ner", "os", "pa", "ri", "sol", "tu"]
_VOCABULARY = [*_SOUNDS, *map("".join, product(_SOUNDS, repeat=2)), *map("".join, product(_SOUNDS, repeat=3))]


def write(root: Path, pages: int, page: Callable[[int], str]) -> None:
    """Writes pages 0 to `pages` - 1 to `root` and removes what was there."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for number in range(pages):
        (root / _file(number)).write_text(page(number), encoding="ascii")


def address(number: int) -> str:
    return f"/{_file(number)}" if number else "/"


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(_VOCABULARY, k=count))


def _file(number: int) -> str:
    return f"{number:06}.html" if number else "index.html"
