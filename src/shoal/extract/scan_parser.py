"""A page as our scanner (scan_page.c) sees it: in one pass, without a tree, in time that depends on its size only.

It takes what the tree of a browser without scripts would give, but repairs nothing:

- A link is given once where it is written. A tree repeats a link that is never closed in each of the next paragraphs,
  and moves what may not stand in a table before it.
- Every tag separates words, also one that a tree drops because it closes nothing.
- A noscript or template lasts until its end tag. In a tree, a noscript with an element that is never closed in it ends
  with the element around it.
- Links and text in a select count like those elsewhere.
- A title in a formula is no title of the page, and a frameset after the start of the body is none.
- An end tag of common HTML elements ends svg and math, also if it closes nothing, and their own end tags do, also where
  HTML within them is not closed. CDATA is text anywhere within them.
"""

from __future__ import annotations

from shoal.extract._scan_page import scan

MOST_MARKS = 110_000
"""A little more than a reading takes of a page; likewise of the text, in bytes."""
MOST_TEXT_BYTES = 4_000_000


class ScanParser:
    __slots__ = ("_scanned",)

    def __init__(self, html: bytes, has_text: bool = True) -> None:
        self._scanned = scan(html, MOST_MARKS, MOST_TEXT_BYTES if has_text else 0)

    def language(self) -> str | None:
        return self._scanned[0]

    def title(self) -> str | None:
        return self._scanned[1]

    def sayings(self) -> list[tuple[str, dict[str, str]]]:
        return self._scanned[2]

    def links(self) -> tuple[list[str], dict[int, str]]:
        return self._scanned[3], self._scanned[4]

    def frames(self) -> list[str]:
        return self._scanned[5]

    def text(self) -> bytes:
        return self._scanned[6]
