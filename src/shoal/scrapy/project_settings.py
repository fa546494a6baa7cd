"""Reads the settings of a Scrapy project: which Redis or home to use, and how to treat hosts."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shoal import settings
from shoal.model import HostPoliteness, JobSpec, Politeness
from shoal.model.options import bound_of
from shoal.model.sink_url import absolute_sink, check_sink
from shoal.scrapy.crawl_job import CrawlPlan, check_job_id
from shoal.scrapy.download_slots import slot_hosts

_PARAMS = ("password", "username", "db")


def shoal_settings(scrapy: Any) -> settings.Settings:
    """SHOAL_* of the project, then Shoal's own settings. A JOBDIR is the home of a crawl without Redis."""
    flags = {
        "redis_url": scrapy["SHOAL_REDIS_URL"] or scrapy_redis_url(scrapy),
        "database_url": scrapy["SHOAL_DATABASE_URL"],
        "home": scrapy["SHOAL_HOME"] or scrapy["JOBDIR"],
    }
    given = {name: None if value is None else str(value) for name, value in flags.items()}
    return settings.load(given, os.environ, Path.cwd(), settings.user_config_file(os.environ))


def scrapy_redis_url(scrapy: Any) -> str | None:
    """As scrapy-redis reads it: REDIS_URL, or REDIS_HOST and its like."""
    if scrapy["REDIS_URL"]:
        return str(scrapy["REDIS_URL"])
    params = scrapy.getdict("REDIS_PARAMS")
    if not (scrapy["REDIS_HOST"] or scrapy["REDIS_PORT"] or params):
        return None
    password = scrapy["REDIS_PASSWORD"] or params.get("password")
    user = f"{quote(str(params.get('username', '')))}:{quote(str(password))}@" if password else ""
    host, port = scrapy["REDIS_HOST"] or "localhost", scrapy["REDIS_PORT"] or 6379
    return f"redis://{user}{host}:{port}/{scrapy['REDIS_DB'] or params.get('db', 0)}"


def crawl_plan(scrapy: Any, spider: Any) -> CrawlPlan:
    """Raises UsageError."""
    delay_s = float(getattr(spider, "download_delay", None) or scrapy.getfloat("DOWNLOAD_DELAY"))
    name = f"{spider.name}"
    politeness = _politeness(scrapy, delay_s)
    spec = JobSpec(name=name, scrapy=name, politeness=politeness, archive=False, text=False, agent=_agent(scrapy))
    spec = replace(spec, sinks=_sinks(scrapy))
    flush, persist = (scrapy.getbool(f"SCHEDULER_{name}") for name in ("FLUSH_ON_START", "PERSIST"))
    return CrawlPlan(spec, check_job_id(scrapy["SHOAL_JOB"]), flush, persist)


def _sinks(scrapy: Any) -> tuple[str, ...]:
    for text in scrapy.getlist("SHOAL_SINKS"):
        check_sink(text)
    return tuple(absolute_sink(text, Path.cwd()) for text in scrapy.getlist("SHOAL_SINKS"))


def _politeness(scrapy: Any, delay_s: float) -> Politeness:
    most = scrapy.getint("CONCURRENT_REQUESTS_PER_IP") or scrapy.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
    usual = HostPoliteness("", _rate(delay_s), _per_host(scrapy, most))
    hosts = slot_hosts(scrapy.getdict("DOWNLOAD_SLOTS"), usual, _rate, partial(_per_host, scrapy))
    return Politeness(usual.rate, usual.per_host, robots=scrapy.getbool("ROBOTSTXT_OBEY"), hosts=hosts)


def _per_host(scrapy: Any, most: int) -> int:
    if scrapy.getbool("AUTOTHROTTLE_ENABLED"):
        # AutoThrottle waits latency / N between requests. N requests in flight have the same rate, for all processes.
        most = min(most, math.ceil(scrapy.getfloat("AUTOTHROTTLE_TARGET_CONCURRENCY")))
    return int(bound_of("per_host").nearest(max(1, most)))


def _rate(delay_s: float) -> float:
    return float(bound_of("rate").nearest(1 / delay_s)) if delay_s else 0.0


def _agent(scrapy: Any) -> str:
    return str(scrapy["USER_AGENT"] or "Scrapy")
