"""The rules of a robots.txt for one crawler, quick to check however many there are.

The longest matching pattern decides. If two are equally long, the one that allows wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from shoal.fetch.robots_patterns import PATTERN_BYTES, Patterns
from shoal.fetch.robots_text import read

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~-"
_BEHIND_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?([^#]*)")
_INDEX = "index.html"


class Rules:
    """What a robots.txt allows one crawler."""

    def __init__(self, text: str, token: str) -> None:
        group, self.sitemaps = read(text, token)
        self.crawl_delay_s = group.crawl_delay_s
        self._forbidden = Patterns(spelt for allows, value in group.rules if not allows for spelt in _spellings(value))
        self._allowed = Patterns(spelt for allows, value in group.rules if allows for spelt in _allowed_by(value))
        listed = sum(PATTERN_BYTES + len(sitemap) for sitemap in self.sitemaps)
        self.size_bytes = self._forbidden.size_bytes + self._allowed.size_bytes + listed
        """About how much memory it takes."""

    def allows(self, url: str) -> bool:
        if self._forbidden.is_empty:
            return True
        path = path_of(url)
        forbidden = self._forbidden.longest(path)
        if forbidden == 0 or path == "/robots.txt" or path.startswith("/robots.txt%3F"):
            return True
        allowed = self._allowed.longest(path)
        # If there are too many patterns to try, the safe answer is no.
        return forbidden is not None and allowed is not None and allowed >= forbidden


def _spellings(value: str) -> Iterator[str]:
    yield pattern_of(value)
    if "$" in value:
        # Some authors mean the end of the path, some the character.
        yield pattern_of(value.replace("$", "%24"))


def _allowed_by(value: str) -> Iterator[str]:
    for pattern in _spellings(value):
        yield pattern
        if pattern.endswith(f"/{_INDEX}"):
            # The directory of an index page is the same page.
            yield pattern.removesuffix(_INDEX) + "$"


def path_of(url: str) -> str:
    """Path and query, in the same normal form as the patterns."""
    found = _BEHIND_AUTHORITY.match(url)
    path = _spelt_path(found[1] if found else url)
    return path if path.startswith("/") else f"/{path}"


def pattern_of(value: str) -> str:
    """Keeps asterisks, and `$` at the end."""
    # A full URL, written by mistake, matches a path that contains it.
    value = f"/{value}" if value.startswith(("http://", "https://")) else value
    return _spelt_pattern(value[:-1]) + "$" if value.endswith("$") else _spelt_pattern(value)


def _speller(kept: str) -> Callable[[str], str]:
    """Unescapes what needs no escape, escapes everything else, and keeps the characters of `kept` unchanged."""
    plain = _UNRESERVED + "=" + kept
    odd = re.compile(f"%[0-9A-Fa-f]{{2}}|[^{re.escape(plain)}%]")

    def spelt(found: re.Match[str]) -> str:
        char = found[0] if len(found[0]) == 1 else chr(int(found[0][1:], 16))
        return char if char in plain and char not in kept else f"%{ord(char):02X}"

    def spell(text: str) -> str:
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("latin-1")
        return odd.sub(spelt, text)

    return spell


_spelt_path = _speller("/")
_spelt_pattern = _speller("/*")
