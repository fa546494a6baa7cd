"""Rejects arguments that look like a missing file or a directory, before they are crawled as a host name.

`.py` is a top-level domain: a misspelt spider would crawl a stranger's site.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

from shoal.errors import UsageError
from shoal.spiders.spider_reference import RULES_SUFFIXES, SPIDER_FILE

_SUFFIXES = (".py", *RULES_SUFFIXES, ".html", ".csv", ".txt")
"""Suffixes of files that commands accept."""
_STEM = re.compile(r"[\w/-]{1,200}", re.ASCII)


def check_is_no_file(word: str) -> None:
    """Raises UsageError. Call it only for a word that is not the name of an existing file."""
    if meant := _without_suffix(word):
        raise UsageError(f"there is no file {word}: did you mean {meant}? For a host write https://")
    path = _path(word)
    if not path:
        return
    name = path.rstrip("/")
    as_host = "" if "/" in name or name.startswith(".") else f"; for a host write https://{name}/"
    if path.lower().endswith(_SUFFIXES):
        raise UsageError(f"there is no file {path}{as_host}")
    if _is_directory(path):
        raise UsageError(f"{path} is a directory: name a file in it{as_host}")


def _without_suffix(word: str) -> str | None:
    """`books`, or `books:name`, if there is a books.py or the like: a host is seldom called that."""
    stem, colon, name = word.partition(":")
    if not _STEM.fullmatch(stem) or name.isdecimal():
        return None
    return next((f"{stem}{suffix}{colon}{name}" for suffix in _SUFFIXES if Path(stem + suffix).is_file()), None)


def _path(word: str) -> str | None:
    """The word as a path, unless it begins with a host that has a dot or a port."""
    found = SPIDER_FILE.fullmatch(word)
    path = found["path"] if found and not (found["name"] or "").isdecimal() else word
    begins, *rest = path.split("/", 1)
    named = "." in begins.strip(".") if rest else False
    if word.startswith("//") or named or begins == "localhost" or any(sign in path for sign in ":?#@"):
        return None
    return path


def _is_directory(path: str) -> bool:
    try:
        # `wget` creates directories that are named like hosts.
        return "." not in path.strip("./") and stat.S_ISDIR(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False
