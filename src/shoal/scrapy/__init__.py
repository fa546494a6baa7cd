"""Scrapy projects on Shoal's frontier: a scheduler, a duplicate filter and an item pipeline for settings.py.

    SCHEDULER = "shoal.scrapy.Scheduler"
    DUPEFILTER_CLASS = "shoal.scrapy.DupeFilter"
    ITEM_PIPELINES = {"shoal.scrapy.Pipeline": 900}

docs/scrapy.md describes the settings, and what differs from Scrapy's own scheduler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.errors import MissingExtra

try:
    import scrapy as _scrapy  # noqa: F401
except ImportError as error:
    raise MissingExtra("shoal.scrapy needs Scrapy", "scrapy") from error

if TYPE_CHECKING:
    from shoal.scrapy.dupefilter import DupeFilter
    from shoal.scrapy.pipeline import Pipeline
    from shoal.scrapy.scheduler import Scheduler

_PARTS = {
    "DupeFilter": "shoal.scrapy.dupefilter",
    "Pipeline": "shoal.scrapy.pipeline",
    "Scheduler": "shoal.scrapy.scheduler",
}
_WITH_REDIS = {
    "RedisCrawlSpider": "shoal.scrapy.redis_spiders",
    "RedisPipeline": "shoal.scrapy.redis_pipeline",
    "RedisSpider": "shoal.scrapy.redis_spiders",
}
__all__ = ["DupeFilter", "Pipeline", "RedisCrawlSpider", "RedisPipeline", "RedisSpider", "Scheduler"]


def __getattr__(name: str) -> Any:
    """Loads each only when it is used: they take longer than Scrapy itself, and some need redis-py."""
    if name not in _PARTS | _WITH_REDIS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module((_PARTS | _WITH_REDIS)[name]), name)
    except ModuleNotFoundError as error:
        if name not in _WITH_REDIS:
            raise
        raise MissingExtra(f"shoal.scrapy.{name} needs {error.name}", "fleet") from error
