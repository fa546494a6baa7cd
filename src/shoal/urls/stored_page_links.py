"""Lists the URLs that a stored page links to."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.errors import InvalidURL
from shoal.urls.absolute_hrefs import AbsoluteHrefs
from shoal.urls.canonical import Params, canonical
from shoal.urls.resolve_links import PLAIN_PATH


def linked(url: str, hrefs: Iterable[str], params: Params) -> list[str]:
    """Every distinct http(s) URL, canonical, whether in scope or not. `url` is the canonical URL of the page."""
    page = AbsoluteHrefs(url)
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
