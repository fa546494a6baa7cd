"""Which parser reads a page: our own compiled scanner, or libraries where no compiler was when Shoal was installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

Attributes = Mapping[str, str | None]


class PageParser(Protocol):
    """A parsed page. The parsers differ only on broken markup, which lexbor repairs as a browser does."""

    def language(self) -> str | None:
        """The language that the page declares."""

    def sayings(self) -> Iterable[tuple[str, Attributes]]:
        """Tag and attributes of each element in SAYING."""

    def links(self) -> tuple[list[str], Mapping[int, str]]:
        """The hrefs of the elements in LINKS, in page order, and the rel of each that has one, by its place.

        Without fragments, which name no other page: `without_fragment` has the exceptions.
        """

    def frames(self) -> list[str]:
        """The sources of the elements in FRAMES."""

    def title(self) -> str | None: ...

    def text(self) -> bytes:
        """Visible text in UTF-8; words of neighbouring elements are kept apart. White space may be as in the page."""


choose_parser: Callable[[bytes, bool], PageParser]
"""The parser of a page. Without text, the second argument, it may take less time, and its text may be empty."""

try:
    from shoal.extract.scan_parser import ScanParser
except ImportError:
    from shoal.extract.library_parser import library_parser

    choose_parser, HAS_SCANNER = library_parser, False
else:
    choose_parser, HAS_SCANNER = ScanParser, True
