"""Reads one field of many records at once: one search of the page instead of one below each record.

lexbor compiles a selector at every search, which costs more than the search; a record of ten fields, twenty times on a
page, would pay for it two hundred times.
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from shoal.extract.document import Node
from shoal.extract.selectors import Css
from shoal.spiders.picks import Place

WORTH_IT = 4
"""Records on a page from which on gathering is quicker."""


class Records:
    """The elements that records are read from, found by CSS, none within another."""

    def __init__(self, nodes: list[LexborNode], root: LexborNode) -> None:
        self._root = root
        self._place = {node.mem_id: place for place, node in enumerate(nodes)}
        self._found: dict[str, list[LexborNode | None]] = {}
        """By query: the title and the address of a link are two fields of one element."""

    def first_of(self, css: Css) -> list[LexborNode | None]:
        """Of each record the first element that matches, as if it had been searched alone."""
        found = self._found.get(css.query)
        if found is None:
            found = self._found[css.query] = [None] * len(self._place)
            for node in css.nodes(self._root):
                place = self._record_of(node)
                if place is not None and found[place] is None:
                    found[place] = node
        return found

    def nest(self, nodes: list[LexborNode]) -> bool:
        return any(self._record_of(node.parent) is not None for node in nodes)

    def _record_of(self, node: LexborNode | None) -> int | None:
        while node is not None:
            place = self._place.get(node.mem_id)
            if place is not None:
                return place
            node = node.parent
        return None


def records_of(places: list[Place], root: LexborNode) -> Records | None:
    """None where each record must be searched alone."""
    if len(places) < WORTH_IT or not all(isinstance(place, Node) and place.is_of_tree for place in places):
        return None
    nodes = [place.root for place in places if isinstance(place, Node)]
    records = Records(nodes, root)
    return None if records.nest(nodes) else records
