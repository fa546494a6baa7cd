"""Reads the settings of a Scrapy project: which Redis or home to use, and how to treat hosts."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shoal import settings
from shoal.model import JobSpec, Politeness
from shoal.model.options import bound_of
from shoal.model.sink_url import absolute_sink, check_sink
from shoal.scrapy.crawl_job import CrawlPlan, check_job_id

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
    rate = bound_of("rate").nearest(1 / delay_s) if delay_s else 0.0
    politeness = Politeness(rate=rate, per_host=_per_host(scrapy), robots=scrapy.getbool("ROBOTSTXT_OBEY"))
    name = f"{spider.name}"
    spec = JobSpec(name=name, scrapy=name, politeness=politeness, archive=False, text=False, agent=_agent(scrapy))
    spec = replace(spec, sinks=_sinks(scrapy))
    flush, persist = (scrapy.getbool(f"SCHEDULER_{name}") for name in ("FLUSH_ON_START", "PERSIST"))
    return CrawlPlan(spec, check_job_id(scrapy["SHOAL_JOB"]), flush, persist)


def slot_warnings(slots: dict[str, Any]) -> list[str]:
    """What each entry of DOWNLOAD_SLOTS asks for in vain, and what to use instead."""
    return [f"DOWNLOAD_SLOTS is not used: {host}: {_instead(host, slot)}" for host, slot in slots.items()]


def _instead(host: str, slot: dict[str, Any]) -> str:
    found = []
    for key, value in slot.items():
        if key == "delay":
            rate = bound_of("rate").nearest(1 / float(value) if value else math.inf)
            found.append(f"for the delay, use `shoal hosts {host} --rate {rate:g}`, which holds for all jobs")
        elif key == "concurrency":
            found.append(
                "for the concurrency, use CONCURRENT_REQUESTS_PER_DOMAIN, which holds for each host of the spider"
            )
        else:
            found.append(f"{key}={value!r} has no equivalent")
    return "; ".join(found)


def _sinks(scrapy: Any) -> tuple[str, ...]:
    for text in scrapy.getlist("SHOAL_SINKS"):
        check_sink(text)
    return tuple(absolute_sink(text, Path.cwd()) for text in scrapy.getlist("SHOAL_SINKS"))


def _per_host(scrapy: Any) -> int:
    most = scrapy.getint("CONCURRENT_REQUESTS_PER_IP") or scrapy.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
    if scrapy.getbool("AUTOTHROTTLE_ENABLED"):
        # AutoThrottle waits latency / N between requests. N requests in flight have the same rate, for all processes.
        most = min(most, math.ceil(scrapy.getfloat("AUTOTHROTTLE_TARGET_CONCURRENCY")))
    return int(bound_of("per_host").nearest(max(1, most)))


def _agent(scrapy: Any) -> str:
    return str(scrapy["USER_AGENT"] or "Scrapy")
