"""Recognizes which arguments of a command name a spider or rules, without loading anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.spiders.spider import Spider

SPIDER_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>\w+))?")
SPIDER_MODULE = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.\w+)+):(?P<name>[A-Za-z_]\w*)")
RULES_SUFFIXES = (".yaml", ".yml", ".json")


def find_spider(words: Sequence[str]) -> tuple[Spider | None, list[str]]:
    """The spider or rules file among the arguments of a command, and the other arguments."""
    named = [word for word in words if names_spider(word)]
    others = [word for word in words if word not in named]
    if not named:
        return None, others
    if len(named) > 1:
        raise UsageError(f"{named[1]!r} is a second spider: a job takes only one")
    # Imported late: the modules of spiders take a tenth of a second to import.
    from shoal.spiders.load_spider import load_spider

    return load_spider(named[0]), others


def names_spider(word: str) -> bool:
    if "://" in word or word.startswith("@"):
        return False
    found = SPIDER_FILE.fullmatch(word)
    path = Path(found["path"] if found else word)
    if found or path.suffix.lower() in RULES_SUFFIXES:
        return path.is_file()
    return SPIDER_MODULE.fullmatch(word) is not None
