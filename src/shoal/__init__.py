"""Shoal crawls and scrapes the web: one process on SQLite, or a fleet around Redis, with the same spider."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
"""True for type checkers. That of `typing` would import it before the command turns the garbage collector off."""

if TYPE_CHECKING:
    from typing import Any

    from shoal.embedded.report import Report
    from shoal.errors import ShoalError
    from shoal.extract.casts import Url
    from shoal.spiders.field_selectors import css, jsonpath, regex, xpath
    from shoal.spiders.file_field import File
    from shoal.spiders.item import Item
    from shoal.spiders.item_steps import DropItem
    from shoal.spiders.job_hooks import JobInfo
    from shoal.spiders.page import Page, Request
    from shoal.spiders.spider import Spider, spider

__all__ = [
    "DropItem",
    "File",
    "Item",
    "JobInfo",
    "Page",
    "Report",
    "Request",
    "ShoalError",
    "Spider",
    "Url",
    "css",
    "jsonpath",
    "regex",
    "spider",
    "xpath",
]

_HOMES = {
    "ShoalError": "shoal.errors",
    "Url": "shoal.extract.casts",
    "DropItem": "shoal.spiders.item_steps",
    "File": "shoal.spiders.file_field",
    "Item": "shoal.spiders.item",
    "JobInfo": "shoal.spiders.job_hooks",
    "Report": "shoal.embedded.report",
    "Page": "shoal.spiders.page",
    "Request": "shoal.spiders.page",
    **dict.fromkeys(("css", "jsonpath", "regex", "xpath"), "shoal.spiders.field_selectors"),
    **dict.fromkeys(("Spider", "spider"), "shoal.spiders.spider"),
}


def __getattr__(name: str) -> Any:
    """Public names are imported when first used: `shoal --help` pays for none of them."""
    import importlib

    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
