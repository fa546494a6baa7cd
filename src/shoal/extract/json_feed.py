"""Reads the entries of a JSON Feed (jsonfeed.org)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from shoal.extract.extract_errors import BadJson
from shoal.extract.parse_json import parsed_json
from shoal.extract.sitemap_xml import SitemapEntry, SitemapFault

MAX_BYTES = 10_000_000
"""JSON is read as a whole, and takes several times as much memory."""
_VERSION = re.compile(rb'"version"\s*+:\s*+"https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/version')


def is_json_feed(head: bytes) -> bool:
    """By the beginning of the document, where the version is."""
    return _VERSION.search(head) is not None


def json_feed_entries(pieces: Iterator[bytes]) -> Iterator[SitemapEntry]:
    """Raises SitemapFault."""
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > MAX_BYTES:
            raise SitemapFault(f"JSON of more than {MAX_BYTES:,} bytes")
    try:
        feed = parsed_json(bytes(body))
    except BadJson as error:
        raise SitemapFault(f"not a JSON Feed: {error}") from error
    items = feed.get("items")
    if not isinstance(items, list):
        raise SitemapFault("not a JSON Feed: it has no items")
    for item in items:
        if isinstance(item, dict) and (url := _url(item)):
            date = item.get("date_modified") or item.get("date_published")
            yield SitemapEntry(url, "url", date if isinstance(date, str) else None)


def _url(item: dict[str, Any]) -> str:
    """The id of an item may be its URL."""
    identifier = item.get("id")
    permalink = identifier if str(identifier).startswith(("http://", "https://")) else ""
    given = item.get("url") or item.get("external_url") or permalink
    return given.strip() if isinstance(given, str) else ""
