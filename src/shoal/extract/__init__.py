"""From a page to what it says and where it leads; from a sitemap to its entries."""

from shoal.extract.page import Reading, read
from shoal.extract.sitemap_xml import Entry
from shoal.extract.sitemaps import Sitemap, looks_like_sitemap

__all__ = ["Entry", "Reading", "Sitemap", "looks_like_sitemap", "read"]
