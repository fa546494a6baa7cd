"""What the links of a page lead to, for whoever reads a page that was crawled before."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.errors import InvalidURL
from shoal.urls.canonical import Params, canonical
from shoal.urls.document import Document
from shoal.urls.resolve import PLAIN_PATH


def linked(url: str, hrefs: Iterable[str], params: Params) -> list[str]:
    """Every distinct http(s) URL, canonical, whether in scope or not; `url` is the page's own, canonical too."""
    page = Document(url)
    found: dict[str, None] = {}
    for href in hrefs:
        if PLAIN_PATH.fullmatch(href):
            found[page.origin + href] = None
        elif absolute := page.absolute(href):
            try:
                found[canonical(absolute[0], params)] = None
            except InvalidURL:
                continue
    return list(found)
