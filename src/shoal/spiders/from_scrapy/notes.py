"""Notes about what could not be translated, with the line in the original."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Note(NamedTuple):
    line: int
    text: str


class Untranslatable(Exception):
    def __init__(self, node: ast.AST, why: str) -> None:
        super().__init__(why)
        self.line: int = getattr(node, "lineno", 0)
        self.why = why
