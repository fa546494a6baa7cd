"""Extraction: the data and links of a page, and the entries of a sitemap."""

from shoal.extract.page import PageReading, read
from shoal.extract.sitemap_xml import SitemapEntry
from shoal.extract.sitemaps import Sitemap, SitemapKind, sitemap_kind

__all__ = ["PageReading", "Sitemap", "SitemapEntry", "SitemapKind", "read", "sitemap_kind"]
