"""Makes the built-in formats of a page, as JSON values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from shoal.extract.document import Document
from shoal.extract.extract_errors import UnparsablePage
from shoal.extract.metadata import metadata
from shoal.extract.readable_text import check_shape, main_markdown, main_text, to_markdown
from shoal.extract.tables import tables

_MAKERS: dict[str, Callable[[Document, bytes], Any]] = {
    "metadata": metadata,
    "main": main_text,
    "markdown": lambda document, html: main_markdown(html, document.url),
    "page_markdown": lambda document, html: to_markdown(html, document.url),
    "tables": lambda document, _: [asdict(table) for table in tables(document)],
}
"""One for each of FORMATS."""
_COSTLY = frozenset(("main", "markdown", "page_markdown"))


class MadeFormat(NamedTuple):
    name: str
    value: Any
    why_missing: str | None = None


def make_formats(html: bytes, url: str, names: Iterable[str]) -> Iterator[MadeFormat]:
    """The page in these formats, one after the other, each with why it is missing if it is. `html` is UTF-8.

    How long one takes hangs on the page, and may be minutes: only for a process that can be killed.
    """
    document = Document(html, url)
    for name in names:
        try:
            # Also before markdown, which is made without this tree, but of the same page.
            check_shape(document.root, html) if name in _COSTLY else document.root
            yield MadeFormat(name, _MAKERS[name](document, html))
        except UnparsablePage as error:
            yield MadeFormat(name, None, f"the page was not parsed: {error.bound}")
        except MemoryError:
            raise
        except Exception as error:
            # A library's fault with one page must not cost the page its other formats.
            yield MadeFormat(name, None, f"{type(error).__name__}: {error}")
