"""What a submitter may say about a Scrapy job. Most settings of Scrapy name classes or files, which is code that the
worker runs; others set politeness aside. An operator or an admin decides about those."""

from __future__ import annotations

from collections.abc import Mapping

SETTINGS = frozenset(
    (
        *("AUTOTHROTTLE_ENABLED", "AUTOTHROTTLE_MAX_DELAY", "AUTOTHROTTLE_START_DELAY"),
        *("CLOSESPIDER_ERRORCOUNT", "CLOSESPIDER_ITEMCOUNT", "CLOSESPIDER_PAGECOUNT", "CLOSESPIDER_TIMEOUT"),
        *("CLOSESPIDER_PAGECOUNT_NO_ITEM", "CLOSESPIDER_TIMEOUT_NO_ITEM", "COOKIES_ENABLED", "DEPTH_LIMIT"),
        *("DOWNLOAD_DELAY", "DOWNLOAD_TIMEOUT", "LOG_LEVEL", "REDIRECT_ENABLED", "RETRY_ENABLED", "RETRY_TIMES"),
    )
)
ATTRIBUTES = frozenset(
    ("crawler", "custom_settings", "download_delay", "max_concurrent_requests", "name", "settings", "user_agent")
)
"""Scrapy makes arguments attributes of the spider, and reads its settings from these."""


def given_by_admins(
    settings: Mapping[str, str], arguments: Mapping[str, str], processes: int, max_rate: float
) -> list[str]:
    """What of this a submitter may not say."""
    wanting = sorted([*(settings.keys() - SETTINGS), *(arguments.keys() & ATTRIBUTES)])
    if "DOWNLOAD_DELAY" in settings and not _is_slow(settings["DOWNLOAD_DELAY"], max_rate):
        least = f"less than {1 / max_rate:g} s" if max_rate else "any"
        wanting.append(f"a DOWNLOAD_DELAY of {least}")
    if processes > 1:
        wanting.append("more than one process")
    return wanting


def _is_slow(delay: str, max_rate: float) -> bool:
    try:
        return max_rate > 0 and float(delay) * max_rate >= 1
    except ValueError:
        return False
