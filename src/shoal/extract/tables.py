"""The tables of a page as rows of text. A cell that spans several places is given in each of them.

A table that holds another lays out the page and is passed over; what lies beyond a cap is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from shoal.extract.document import Document
from shoal.extract.elements import attribute_of, text_of

MAX_TABLES = 200
MAX_COLUMNS = 200
MAX_CELLS = 100_000
"""Per page."""


@dataclass(frozen=True, slots=True)
class Table:
    caption: str | None
    header: list[str]
    """Empty if the table has none."""
    rows: list[list[str]]

    def records(self) -> list[dict[str, str]]:
        """Rows by the names of their columns; one without a name, or whose name was had before, gets its number."""
        width = max(map(len, self.rows), default=0)
        names: list[str] = []
        for number in range(width):
            name = self.header[number] if number < len(self.header) else ""
            names.append(name if name and name not in names else f"column {number + 1}")
        return [dict(zip(names, row, strict=False)) for row in self.rows]


def tables(document: Document) -> list[Table]:
    """Raises UnparsablePage."""
    found: list[Table] = []
    room = MAX_CELLS
    for node in _innermost(document.root)[:MAX_TABLES]:
        rows = _Grid(room).fill(_rows(node))
        room -= sum(map(len, rows))
        if rows:
            head = 1 if _is_header(next(_rows(node))) else 0
            found.append(Table(_caption(node), rows[0] if head else [], rows[head:]))
    return found


def _innermost(root: LexborNode) -> list[LexborNode]:
    nodes = root.css("table")
    around = {outer.mem_id for node in nodes if (outer := _table_around(node))}
    return [node for node in nodes if node.mem_id not in around]


def _table_around(node: LexborNode) -> LexborNode | None:
    parent = node.parent
    while parent is not None and parent.tag != "table":
        parent = parent.parent
    return parent


def _rows(table: LexborNode) -> Iterator[LexborNode]:
    for part in table.iter():
        if part.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in part.iter() if row.tag == "tr")


def _is_header(row: LexborNode) -> bool:
    parent = row.parent
    in_head = parent is not None and parent.tag == "thead"
    return in_head or all(cell.tag == "th" for cell in row.iter() if cell.tag in ("td", "th"))


def _caption(table: LexborNode) -> str | None:
    node = table.css_first("caption")
    return (text_of(node) or None) if node else None


class _Grid:
    def __init__(self, room: int) -> None:
        self._room = room
        self._hanging: dict[int, tuple[int, str]] = {}
        """Column -> for how many rows, the present one included, a cell from above reaches down, and its text."""
        self._below: dict[int, tuple[int, str]] = {}

    def fill(self, rows: Iterator[LexborNode]) -> list[list[str]]:
        filled = []
        for row in rows:
            cells = self._row(row)
            self._room -= len(cells)
            if self._room < 0:
                break
            if cells:
                filled.append(cells)
        return filled

    def _row(self, row: LexborNode) -> list[str]:
        cells: list[str] = []
        self._hanging, self._below = self._below, {}
        for cell in row.iter():
            if cell.tag in ("td", "th"):
                self._hang(cells)
                text, down = text_of(cell), span_of(cell, "rowspan") - 1
                for _ in range(min(span_of(cell, "colspan"), MAX_COLUMNS - len(cells))):
                    if down:
                        self._below[len(cells)] = (down, text)
                    cells.append(text)
        self._hang(cells)
        return cells

    def _hang(self, cells: list[str]) -> None:
        while (column := len(cells)) in self._hanging:
            down, text = self._hanging.pop(column)
            cells.append(text)
            if down > 1:
                self._below[column] = (down - 1, text)


def span_of(cell: LexborNode, name: str) -> int:
    spelt = (attribute_of(cell, name) or "").strip()
    return max(1, min(int(spelt), 1_000)) if spelt.isdecimal() and len(spelt) < 6 else 1
