"""Reads sitemaps, for tests."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.extract.sitemap_xml import SitemapEntry
from shoal.extract.sitemaps import Sitemap


def read_all(body: bytes | Iterator[bytes]) -> tuple[list[SitemapEntry], str | None]:
    sitemap = Sitemap(body)
    return list(sitemap), sitemap.fault


def byte_by_byte(body: bytes) -> Iterator[bytes]:
    return (body[n : n + 1] for n in range(len(body)))
