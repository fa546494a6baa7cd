"""A page in its built-in formats, as values that JSON can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from shoal.extract.document import Document
from shoal.extract.faults import TwistedPage
from shoal.extract.metadata import metadata
from shoal.extract.prose import main_text, to_markdown
from shoal.extract.tables import tables

_MAKERS: dict[str, Callable[[Document, bytes], Any]] = {
    "metadata": lambda document, _: metadata(document),
    "main": lambda document, _: main_text(document),
    "markdown": lambda document, html: to_markdown(html, document.url),
    "tables": lambda document, _: [asdict(table) for table in tables(document)],
}
"""One for each of FORMATS."""


def formatted(html: bytes, url: str, names: Iterable[str]) -> dict[str, Any]:
    """The page in these formats; each is None for a page whose tree would cost too much. `html` is UTF-8."""
    document = Document(html, url)
    try:
        # Also before markdown, which is made without this tree, but of the same page.
        _ = document.root
    except TwistedPage:
        return dict.fromkeys(names)
    return {name: _MAKERS[name](document, html) for name in names}
