"""Words of a command that would be looked up as a host, and mean a file that is not there, or a directory.

`.py` is a top-level domain: a misspelt spider would crawl a stranger.
"""

from __future__ import annotations

import stat
from pathlib import Path

from shoal.errors import UsageError
from shoal.spiders.naming import RULES_ENDINGS, SPIDER_FILE

_ENDINGS = (".py", *RULES_ENDINGS, ".html", ".csv", ".txt")
"""Of what commands take as files."""


def check_is_no_file(word: str) -> None:
    """Raises UsageError. To be asked of a word that is not the name of a file which is there."""
    path = _path(word)
    if not path:
        return
    name = path.rstrip("/")
    as_host = "" if "/" in name or name.startswith(".") else f"; for a host write https://{name}/"
    if path.lower().endswith(_ENDINGS):
        raise UsageError(f"there is no file {path}{as_host}")
    if _is_directory(path):
        raise UsageError(f"{path} is a directory: name a file in it{as_host}")


def _path(word: str) -> str | None:
    """Which the word can only be if it does not begin with a host that has a dot or a port."""
    found = SPIDER_FILE.fullmatch(word)
    path = found["path"] if found and not (found["name"] or "").isdecimal() else word
    begins, *rest = path.split("/", 1)
    named = "." in begins.strip(".") if rest else False
    if word.startswith("//") or named or begins == "localhost" or any(sign in path for sign in ":?#@"):
        return None
    return path


def _is_directory(path: str) -> bool:
    try:
        # `wget` leaves some that are named like hosts.
        return "." not in path.strip("./") and stat.S_ISDIR(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False
