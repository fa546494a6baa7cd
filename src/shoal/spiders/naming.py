"""Which words of a command name a spider or rules, told without loading anything."""

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
RULES_ENDINGS = (".yaml", ".yml", ".json")


def spider_among(words: Sequence[str]) -> tuple[Spider | None, list[str]]:
    """The one spider or rules file among the words of a command, and the words that are not."""
    named = [word for word in words if names_spider(word)]
    others = [word for word in words if word not in named]
    if not named:
        return None, others
    if len(named) > 1:
        raise UsageError(f"{named[1]!r} is a second spider: a job has one")
    # Only here: what spiders need takes a tenth of a second to load.
    from shoal.spiders.loading import load_spider

    return load_spider(named[0]), others


def names_spider(word: str) -> bool:
    if "://" in word or word.startswith("@"):
        return False
    found = SPIDER_FILE.fullmatch(word)
    path = Path(found["path"] if found else word)
    if found or path.suffix.lower() in RULES_ENDINGS:
        return path.is_file()
    return SPIDER_MODULE.fullmatch(word) is not None
