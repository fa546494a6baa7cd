"""Which of two libraries parses a page, where our own scanner is not compiled.

lexbor builds the tree a browser would and is the faster of the two, but a page can be written so that the tree costs
far more than the page: time grows with the square of open elements or of attributes, and unclosed formatting elements
are copied into every paragraph (27 KB become 4,000,000 nodes and 1.7 GB). No cheap look at the bytes tells such a page
from an honest one, so lexbor gets the pages whose worst case is small, and libxml2's events, which keep no tree and
take 1.4 times as long, get the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.extract.event_parser import EventParser
from shoal.extract.tree_parser import TreeParser

if TYPE_CHECKING:
    from shoal.extract.parser_choice import PageParser

# The worst pages within these limits take lexbor 0.7 s (21,000 attributes in one tag) and 190 MB (700 formatting
# elements over 700 paragraphs).
TREE_MAX_BYTES = 64 * 1024
TREE_MAX_TAGS = 1_400


def library_parser(html: bytes, _: bool = True) -> PageParser:
    if len(html) <= TREE_MAX_BYTES and html.count(b"<") <= TREE_MAX_TAGS:
        return TreeParser(html)
    return EventParser(html)
