"""Searches pages by CSS with engines that are kept: lexbor's takes as long to make as two searches."""

from __future__ import annotations

from selectolax.lexbor import LexborCSSSelector, LexborNode

_idle: list[LexborCSSSelector] = []
"""An engine makes one search at a time. Threads share these, and a search may interrupt another."""


def search(query: str, root: LexborNode) -> list[LexborNode]:
    """All matching elements, in page order. Raises SelectolaxError."""
    # The root of a fragment stands for its siblings too, which only its own search knows.
    if root.tag != "html":
        return root.css(query)
    try:
        engine = _idle.pop()
    except IndexError:
        engine = LexborCSSSelector()  # type: ignore[no-untyped-call]
    found = engine.find(query, root)
    # Not after an error: nobody knows what it leaves behind.
    _idle.append(engine)
    return found
