"""Makes the URLs of links absolute. Most need no URL parser, which saves nine tenths of the time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from ada_url import join_url

# No dot segments, nothing to be encoded: the parser would leave it as it is.
_EASY_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9_~.-]*+)++/?")


def join(base_url: str, link: str) -> str:
    """Raises ValueError."""
    return _origin_of(base_url) + link if _EASY_PATH.fullmatch(link) else str(join_url(base_url, link))


def joined(base_url: str, links: Sequence[str]) -> list[str]:
    """Passes over what makes no URL."""
    with suppress(ValueError):
        return easily_joined(base_url, links)
    urls = []
    for link in links:
        with suppress(ValueError):
            urls.append(join(base_url, link))
    return urls


def easily_joined(base_url: str, links: Sequence[str]) -> list[str]:
    """Raises ValueError unless each is a plain path."""
    if not all(map(_EASY_PATH.fullmatch, links)):
        raise ValueError("not all of them are plain paths")
    origin = _origin_of(base_url)
    return [origin + link for link in links]


def _origin_of(base_url: str) -> str:
    # Pages differ, their hosts seldom.
    path = base_url.find("/", len("https://"))
    return _origin(base_url[:path] if path > 0 else base_url)


@lru_cache(64)
def _origin(url: str) -> str:
    return str(join_url(url, "/")).removesuffix("/")
