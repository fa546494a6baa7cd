"""Reads one field of many records at once: one search of the page instead of one below each record.

lexbor compiles a selector at every search, which costs more than the search; a record of ten fields, twenty times on a
page, would pay for it two hundred times.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from selectolax.lexbor import LexborNode

from shoal.extract.document import Node
from shoal.extract.selectors import Css
from shoal.spiders.picks import Place

WORTH_IT = 4
"""Records on a page from which on gathering is quicker."""

_id_of = attrgetter("mem_id")
_parent_of = attrgetter("parent")


class Records:
    """The elements that records are read from, found by CSS, none within another."""

    def __init__(self, nodes: list[LexborNode], root: LexborNode) -> None:
        self._root = root
        self._ids = list(map(_id_of, nodes))
        self._place = {id: place for place, id in enumerate(self._ids)}
        self._found: dict[str, Sequence[LexborNode | None]] = {}
        """By query: the title and the address of a link are two fields of one element."""

    def first_of(self, css: Css) -> Sequence[LexborNode | None]:
        """Of each record the first element that matches, as if it had been searched alone."""
        found = self._found.get(css.query)
        if found is None:
            nodes = css.nodes(self._root)
            found = self._found[css.query] = nodes if self._have_each_one(nodes) else self._firsts(nodes)
        return found

    def nest(self, nodes: list[LexborNode]) -> bool:
        parents = {_id_of(parent): parent for parent in map(_parent_of, nodes) if parent}
        return any(self._place_of(parent) is not None for parent in parents.values())

    def _have_each_one(self, nodes: list[LexborNode]) -> bool:
        """Whether these are one element of each record, at the same depth: most fields are, and it is told at once."""
        if len(nodes) != len(self._ids):
            return False
        above = nodes
        while all(above) and above[0].mem_id not in self._place:
            above = list(map(_parent_of, above))
        return all(above) and list(map(_id_of, above)) == self._ids

    def _firsts(self, nodes: list[LexborNode]) -> list[LexborNode | None]:
        found: list[LexborNode | None] = [None] * len(self._ids)
        for node in nodes:
            place = self._place_of(node)
            if place is not None and found[place] is None:
                found[place] = node
        return found

    def _place_of(self, node: LexborNode | None) -> int | None:
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
