"""Parses a page into libxml2 events: without a tree, memory and time depend on the page's size only, not its shape."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.extract.html_tags import FRAMES, LINKS, MARKED, SAYING, UNSEEN
from shoal.extract.tree_parser import hrefs_and_rels

_PIECE_BYTES = 16 * 1024
# An end tag that closes nothing is sought through all open elements, so a deep page must be a short one: reading stops
# when the depths at the ends of the pieces add up to this. A page of 10 MB may be 160 deep on average; the worst takes
# 1 s.
MAX_SUM_OF_DEPTHS = 100_000
# A little more than a reading takes of a page: what comes after is not looked at.
MAX_MARKS = 110_000
MAX_TEXT_PIECES = 1_000_000
_NOTED = MARKED | {*UNSEEN, "body", "svg", "title"}


class EventParser:
    __slots__ = ("_seen",)

    def __init__(self, html: bytes) -> None:
        self._seen = _Content()
        _run(html, self._seen)

    def language(self) -> str | None:
        said = (attributes.get("lang") for tag, attributes in self._seen.marks if tag == "html")
        return next(filter(None, said), None)

    def sayings(self) -> list[tuple[str, Mapping[str, str]]]:
        return [(tag, attributes) for tag, attributes in self._seen.marks if tag in SAYING]

    def links(self) -> tuple[list[str], dict[int, str]]:
        return hrefs_and_rels(attributes for tag, attributes in self._seen.marks if tag in LINKS)

    def frames(self) -> list[str]:
        return [src for tag, attributes in self._seen.marks if tag in FRAMES and (src := attributes.get("src"))]

    def title(self) -> str | None:
        return "".join(self._seen.title) if self._seen.title else None

    def text(self) -> bytes:
        return "".join(self._seen.words).encode("utf-8", "replace")


class _Content:
    """Collects the relevant elements outside templates, the text of the first title, and the text of the body.

    Every tag separates words. An entity, which arrives as its own piece, does not. One pass collects all of it: a
    second one for the text would take as long as the first.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.marks: list[tuple[str, Mapping[str, str]]] = []
        self.title: list[str] = []
        self.words: list[str] = []
        self._in_title = False
        self._title_known = False
        self._in_body = False
        self._template_depth = 0
        self._unseen_depth = 0

    @property
    def is_full(self) -> bool:
        return len(self.marks) >= MAX_MARKS and len(self.words) >= MAX_TEXT_PIECES

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        self.words.append(" ")
        if tag in _NOTED:
            self._note(tag, attributes)

    def end(self, tag: str) -> None:
        if self._in_title:
            self._in_title, self._title_known = False, True
        if self.depth == self._template_depth:
            self._template_depth = 0
        if self.depth == self._unseen_depth:
            self._unseen_depth = 0
        self.depth -= 1
        self.words.append(" ")

    def data(self, text: str) -> None:
        if self._in_title:
            self.title.append(text)
        if self._in_body and not self._unseen_depth:
            self.words.append(text)

    def close(self) -> None: ...

    def _note(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "body":
            self._in_body = True
        elif tag in UNSEEN and not self._unseen_depth:
            self._unseen_depth = self.depth
        if self._template_depth:
            return
        if tag in MARKED:
            if len(self.marks) < MAX_MARKS:
                self.marks.append((tag, dict(attributes)))
        elif tag == "template":
            self._template_depth = self.depth
        elif tag == "title":
            self._in_title = not self._title_known
        elif tag == "svg":
            # Its titles are captions.
            self._title_known = True


def _run(html: bytes, listener: _Content) -> None:
    # Where the scanner is compiled, none of this runs, but a spider's pages import the bounds of these parsers.
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.HTMLParser(target=listener, encoding="utf-8", huge_tree=True)
    # In pieces, because a listener cannot stop the parser within one.
    sum_of_depths = 0
    for start in range(0, len(html), _PIECE_BYTES):
        parser.feed(html[start : start + _PIECE_BYTES])
        sum_of_depths += listener.depth
        del listener.words[MAX_TEXT_PIECES:]
        if sum_of_depths > MAX_SUM_OF_DEPTHS or listener.is_full:
            return
    try:
        parser.close()
    except etree.XMLSyntaxError:
        # Not one element: nothing to listen to.
        return
