"""Turns a sitemap or feed that was given as a file into a list: one URL per line.

It is recognised by its content, and may be gzipped. Sitemaps that an index names are lines too: the crawl reads them as
sitemaps when they come.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO, cast

from shoal.errors import UsageError
from shoal.extract.json_feed import is_json_feed
from shoal.extract.sitemaps import Sitemap

_BLOCK = 1 << 16
_START = re.compile(rb"\x1f\x8b|(?:\xef\xbb\xbf)?\s*+<(?!https?:)|\xff\xfe<\0|\xfe\xff\0<")
"""Gzip or XML. `<https://…>` is a line of a list."""


def as_url_list(stream: BinaryIO, shown: str) -> BinaryIO:
    """The stream itself, if it is neither a sitemap nor a feed."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream))
    try:
        head = buffered.peek()
    except OSError:
        # Who reads the list will meet it again, and report it.
        head = b""
    if not _START.match(head) and not (head.lstrip().startswith(b"{") and is_json_feed(head)):
        return cast(BinaryIO, buffered)
    return cast(BinaryIO, io.BufferedReader(_Lines(_urls(buffered, shown)), _BLOCK))


def _urls(stream: io.BufferedReader, shown: str) -> Iterator[bytes]:
    sitemap = Sitemap(iter(partial(stream.read, _BLOCK), b""))
    is_empty = True
    for entry in sitemap:
        is_empty = False
        # A line end within a URL would make two of it.
        yield " ".join(entry.url.split()).encode() + b"\n"
    if sitemap.fault and is_empty:
        raise UsageError(f"{shown} is not a list of URLs, and not a sitemap or feed: {sitemap.fault}")
    if sitemap.fault:
        # Not a URL, so it is reported as a bad line.
        yield f"<!-- {sitemap.fault} -->\n".encode()


class _Lines(io.RawIOBase):
    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._lines, b"")
        part = self._rest[: len(buffer)]
        self._rest = self._rest[len(part) :]
        buffer[: len(part)] = part
        return len(part)
