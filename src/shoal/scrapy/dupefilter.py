"""The duplicate filter: the frontier itself, which knows every request that any process of the crawl has found."""

from __future__ import annotations

from typing import Any

from scrapy.dupefilters import BaseDupeFilter, RFPDupeFilter
from scrapy.utils.misc import build_from_crawler, load_object


class DupeFilter(RFPDupeFilter):
    """For DUPEFILTER_CLASS. Shoal's scheduler does not ask it; commands that use Scrapy's scheduler do."""


def own_filter(crawler: Any) -> tuple[bool, Any]:
    """Whether the frontier filters, and the project's own filter, which is asked first; None if it has none."""
    cls = load_object(crawler.settings["DUPEFILTER_CLASS"])
    if cls in (DupeFilter, RFPDupeFilter):
        return True, None
    if cls is BaseDupeFilter:
        return False, None
    return True, build_from_crawler(cls, crawler)
