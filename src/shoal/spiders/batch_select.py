"""Reads one field of many records at once: one search of the page instead of one per record.

lexbor compiles a selector at every search, which costs more than the search. For a record of ten fields, twenty times
on a page, that would be two hundred times.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter

from selectolax.lexbor import LexborNode

from shoal.extract.document import Node
from shoal.extract.selectors import Css

WORTH_IT = 4
"""The number of records on a page from which a batch is faster."""

_id_of = attrgetter("mem_id")
_parent_of = attrgetter("parent")


class Records:
    """The elements of the records, found by CSS; none is inside another."""

    def __init__(self, nodes: list[LexborNode], root: LexborNode) -> None:
        self._nodes = nodes
        self._root = root
        self._ids = list(map(_id_of, nodes))
        self._place: dict[int, int] = dict(zip(self._ids, range(len(nodes)), strict=True))
        self._found: dict[str, Sequence[LexborNode | None]] = {}
        """Query -> elements, because two fields may use one element: the title and the URL of a link."""

    @cached_property
    def places(self) -> list[Node]:
        """For selectors that must search each record alone. Shared by all fields, because XPath keeps a copy there."""
        return list(map(Node, self._nodes))

    def first_of(self, css: Css) -> Sequence[LexborNode | None]:
        """The first matching element of each record, as if each had been searched alone."""
        found = self._found.get(css.query)
        if found is None:
            nodes = css.nodes(self._root)
            found = self._found[css.query] = nodes if self._is_one_each(nodes) else self._firsts(nodes)
        return found

    def nest(self) -> bool:
        parents = [parent for parent in map(_parent_of, self._nodes) if parent]
        distinct = dict(zip(map(_id_of, parents), parents, strict=True)).values()
        return any(self._place_of(parent) is not None for parent in distinct)

    def _is_one_each(self, nodes: list[LexborNode]) -> bool:
        """Whether these are one element per record, at the same depth. This quick check holds for most fields."""
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


def records_of(nodes: list[LexborNode], root: LexborNode) -> Records | None:
    """None if each record must be searched alone."""
    if len(nodes) < WORTH_IT:
        return None
    records = Records(nodes, root)
    return None if records.nest() else records
