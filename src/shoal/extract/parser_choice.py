"""Which of two parsers reads a page.

lexbor builds the tree a browser would and is the faster of the two, but a page can be written so that the tree
costs far more than the page: time grows with the square of open elements or of attributes, and unclosed
formatting elements are copied into every paragraph (27 KB become 4,000,000 nodes and 1.7 GB). No cheap look at
the bytes tells such a page from an honest one, so lexbor gets the pages whose worst case is small, and libxml2's
events, which keep no tree and take 1.4 times as long, get the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from shoal.extract.event_parser import EventParser
from shoal.extract.tree_parser import TreeParser

# The worst pages within these limits take lexbor 0.7 s (21,000 attributes in one tag) and 190 MB (700 formatting
# elements over 700 paragraphs).
TREE_MAX_BYTES = 64 * 1024
TREE_MAX_TAGS = 1_400


Attributes = Mapping[str, str | None]


class PageParser(Protocol):
    """A parsed page. The parsers differ only on broken markup, which lexbor repairs as a browser does."""

    def language(self) -> str | None:
        """The language that the page declares."""

    def sayings(self) -> Iterable[tuple[str, Attributes]]:
        """Tag and attributes of each element in SAYING."""

    def links(self) -> Sequence[Attributes]:
        """The tag and attributes of each element in LINKS, in page order."""

    def frames(self) -> Sequence[Attributes]: ...

    def title(self) -> str | None: ...

    def text(self) -> str:
        """Visible text with unfolded whitespace; words of neighbouring elements are kept apart."""


def choose_parser(html: bytes) -> PageParser:
    if len(html) <= TREE_MAX_BYTES and html.count(b"<") <= TREE_MAX_TAGS:
        return TreeParser(html)
    return EventParser(html)
