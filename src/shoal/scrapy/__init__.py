"""Scrapy projects on Shoal's frontier: a scheduler, a duplicate filter and an item pipeline for settings.py.

    SCHEDULER = "shoal.scrapy.Scheduler"
    DUPEFILTER_CLASS = "shoal.scrapy.DupeFilter"
    ITEM_PIPELINES = {"shoal.scrapy.Pipeline": 900}

docs/scrapy.md describes the settings, and what differs from Scrapy's own scheduler.
"""

from __future__ import annotations

from shoal.errors import MissingExtra

try:
    import scrapy as _scrapy  # noqa: F401
except ImportError as error:
    raise MissingExtra("shoal.scrapy needs Scrapy", "scrapy") from error

from shoal.scrapy.dupefilter import DupeFilter
from shoal.scrapy.pipeline import Pipeline
from shoal.scrapy.scheduler import Scheduler

__all__ = ["DupeFilter", "Pipeline", "Scheduler"]
