"""The tables of the store.

Times are seconds since the epoch, UTC; fingerprints are signed 64-bit integers; JSON is stored as text. A request
of a job ends in exactly one of pages, redirects, dead and drops. The token of the lease that ended it
decides which of two results is newer. If you change a table, add a migration.
"""

from shoal.store.tables.crawl import (
    canonicals,
    changes,
    contents,
    cookies,
    dead,
    drops,
    files,
    hooks,
    inputs,
    item_types,
    items,
    jobs,
    metadata,
    offers,
    pages,
    quality,
    redirects,
    refused,
    rejects,
    robots,
    segments,
    series,
    sinks,
    stored_files,
    tallies,
    waiting,
)
from shoal.store.tables.fleet import answers, deliveries, exclusions, hosts, runs, schedules, tokens
from shoal.store.tables.proxies import proxy_figures, proxy_lists
from shoal.store.tables.scrapy import scrapy_packages, scrapy_versions, scrapyd_jobs

__all__ = [
    "answers",
    "canonicals",
    "changes",
    "contents",
    "cookies",
    "dead",
    "deliveries",
    "drops",
    "exclusions",
    "files",
    "hooks",
    "hosts",
    "inputs",
    "item_types",
    "items",
    "jobs",
    "metadata",
    "offers",
    "pages",
    "proxy_figures",
    "proxy_lists",
    "quality",
    "redirects",
    "refused",
    "rejects",
    "robots",
    "runs",
    "schedules",
    "scrapy_packages",
    "scrapy_versions",
    "scrapyd_jobs",
    "segments",
    "series",
    "sinks",
    "stored_files",
    "tallies",
    "tokens",
    "waiting",
]
