"""The tables of the store.

Times are seconds since the epoch, UTC; fingerprints are signed 64-bit integers; JSON is stored as text. A request
of a job ends in exactly one of pages, redirects, dead and drops. The token of the lease that ended it
decides which of two results is newer. If you change a table, add a migration.
"""

from shoal.store.tables.archive import segments, stored_files
from shoal.store.tables.fleet import answers, deliveries, exclusions, hosts, runs, schedules, tokens
from shoal.store.tables.items import changes, files, item_types, items, quality, rejects
from shoal.store.tables.jobs import hooks, inputs, jobs, series, tallies
from shoal.store.tables.metadata import metadata
from shoal.store.tables.outcomes import canonicals, contents, dead, drops, pages, redirects
from shoal.store.tables.proxies import proxy_costs, proxy_figures, proxy_lists
from shoal.store.tables.requests import cookies, offers, robots, waiting
from shoal.store.tables.scrapy import scrapy_packages, scrapy_versions, scrapyd_jobs
from shoal.store.tables.sinks import refused, sinks

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
    "proxy_costs",
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
