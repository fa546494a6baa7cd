"""Shoal crawls and scrapes the web: one process on SQLite, or a fleet around Redis, with the same spider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.errors import ShoalError
    from shoal.extract.casts import Url
    from shoal.spider.item import Item
    from shoal.spider.page import Page, Request
    from shoal.spider.picks import css, jsonpath, regex, xpath
    from shoal.spider.spider import Spider, spider

__all__ = ["Item", "Page", "Request", "ShoalError", "Spider", "Url", "css", "jsonpath", "regex", "spider", "xpath"]

_HOMES = {
    "ShoalError": "shoal.errors",
    "Url": "shoal.extract.casts",
    "Item": "shoal.spider.item",
    "Page": "shoal.spider.page",
    "Request": "shoal.spider.page",
    **dict.fromkeys(("css", "jsonpath", "regex", "xpath"), "shoal.spider.picks"),
    "Spider": "shoal.spider.spider",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when first used: `shoal --help` pays for none of them."""
    import importlib

    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
