"""A page as lexbor's tree."""

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from shoal.extract.vocabulary import MARKED, UNSEEN

_MARKED_SELECTOR = ",".join(sorted(MARKED))
_UNSEEN_SELECTOR = ",".join(sorted(UNSEEN))
# Mutation events make a <select> cost the square of its options and give us nothing.
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)


class Tree:
    __slots__ = ("_parser",)

    def __init__(self, html: bytes) -> None:
        self._parser = LexborHTMLParser(html, options=_OPTIONS)

    def marks(self) -> list[tuple[str, dict[str, str | None]]]:
        return [(node.tag or "", node.attributes) for node in self._parser.css(_MARKED_SELECTOR)]

    def title(self) -> str | None:
        node = self._parser.css_first("title:not(svg *)")
        return node.text() if node else None

    def text(self) -> str:
        # Innermost first: removing an element frees what it holds.
        for node in reversed(self._parser.css(_UNSEEN_SELECTOR)):
            node.decompose()
        body = self._parser.body
        return body.text(separator=" ") if body else ""
