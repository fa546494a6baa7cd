"""Makes the hrefs of a page absolute by text alone, so that the parser runs only once, on the result.

The parser reads that result exactly as it would have read the href against the base. Each result says on which part of
the base it depends, so that it can be cached for all pages that share that part.
"""

from __future__ import annotations

import re

ANYWHERE = ""
"""For an absolute link: it means the same on every page."""

_WEB = ("http://", "https://")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_SLASHES = ("/", "\\")
_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_TABS_AND_NEWLINES = {ord(char): None for char in "\t\n\r"}


BARE_FRAGMENT = "#"
_SHORT = 1_000
"""A directory with a plain name is then not too long for a link."""


def without_fragment(href: str) -> str:
    """An index has thousands of fragments of a few pages, which then share one link. Only a fragment becomes `#`.

    Without its fragment, an href that ends in a blank or is only a scheme would mean something else. Of other
    characters than ASCII, the parser decides whether they make the href malformed.
    """
    page, mark, _ = href.partition("#")
    if not mark or not href.isascii():
        return href
    if not page:
        return BARE_FRAGMENT
    return page if page[-1:] > " " and page[-1] != ":" else href


class AbsoluteHrefs:
    """What hrefs are resolved against: the canonical URL of a page or of its <base>."""

    __slots__ = ("_is_page", "_path", "_scheme", "_url", "directory", "origin")

    def __init__(self, url: str, is_page: bool = True) -> None:
        self._url = url
        self._is_page = is_page
        self._path = url.partition("?")[0]
        self._scheme = url[: url.index(":") + 1]
        self.origin = url[: url.index("/", len(self._scheme) + 2)]
        self.directory = self._path[: self._path.rindex("/") + 1]

    @property
    def has_plain_directory(self) -> bool:
        """Whether it stays as it is with a name after it: a session id may have been cut out of another."""
        return len(self.directory) <= _SHORT and ";" not in self.directory and "(" not in self.directory

    def absolute(self, href: str) -> tuple[str, str | None] | None:
        """The absolute URL, and the part of the base on which it depends: `origin`, `directory` or ANYWHERE. None if it
        depends on more.

        Returns None for a link into the same page.
        """
        href = href.strip(_C0_AND_SPACE)
        if "\t" in href or "\n" in href or "\r" in href:
            href = href.translate(_TABS_AND_NEWLINES)
        if ":" in href:
            if href.startswith(_WEB):
                return href, ANYWHERE
            if scheme := _SCHEME.match(href):
                return self._with_scheme(href, scheme[0])
        return self._joined(href)

    def _with_scheme(self, href: str, scheme: str) -> tuple[str, str | None] | None:
        rest = href[len(scheme) :]
        if scheme.lower() != self._scheme or rest.startswith("//"):
            return href, self.origin
        # By a WHATWG rule, "http:page" on an http page is the relative link "page".
        return self._joined(rest)

    def _joined(self, href: str) -> tuple[str, str | None] | None:
        first = href[:1]
        if first in _SLASHES:
            return (self._scheme if href[1:2] in _SLASHES else self.origin) + href, self.origin
        if first == "#":
            # On a page with another <base>, even a bare fragment leads to another page.
            return None if self._is_page else (self._url, None)
        if first == "?":
            return self._path + href, None
        return (self.directory + href, self.directory) if first else (self._url, None)
