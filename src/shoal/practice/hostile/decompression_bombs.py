"""Small bodies that decompress to huge ones."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache

import brotli
import zstandard

from shoal.practice.behaviour import Behaviour
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import Answer, Site, Visit

GROWN_BYTES = 64_000_000
"""More than a crawler should accept for a page."""
SITEMAP_BYTES = 240_000_000
"""More than it should accept for a sitemap: the protocol allows 50 MB."""


def bombs() -> list[Behaviour]:
    codings: dict[str, Callable[[bytes], bytes]] = {"gzip": _gzip, "br": _brotli, "zstd": zstandard.compress}
    return [
        *(_bomb(f"/bombs/{name}.html", name, pack) for name, pack in codings.items()),
        _bomb("/bombs/nested.html", "gzip, gzip", lambda body: _gzip(_gzip(body))),
        _bomb("/bombs/thrice.html", "gzip, gzip, gzip", lambda body: _gzip(_gzip(_gzip(body))), "undecodable"),
    ]


def _bomb(path: str, coding: str, pack: Callable[[bytes], bytes], reason: str = "too_large") -> Behaviour:
    @cache
    def body() -> bytes:
        return pack(bytes(GROWN_BYTES))

    def answer(visit: Visit) -> Answer:
        return Answer(200, body(), headers={"Content-Encoding": coding})

    return Behaviour(f"A bomb ({coding})", path, {path: answer}, ExpectedResults(broken={path: reason}))


def sitemap_bomb() -> Site:
    @cache
    def body() -> bytes:
        spaces = b" " * 1_000_000
        start = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        # Several gzip members in one file, so that a million bytes are compressed only once.
        return _gzip(start) + _gzip(spaces) * (SITEMAP_BYTES // len(spaces)) + _gzip(b"</urlset>")

    return lambda visit: Answer(200, body(), "application/gzip")


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, 6, mtime=0)


def _brotli(body: bytes) -> bytes:
    packed: bytes = brotli.compress(body, quality=1)
    return packed
