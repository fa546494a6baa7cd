"""The tables of the store.

Times are seconds since the epoch, UTC; fingerprints are signed 64-bit integers; JSON is kept as text. A request
of a job ends in exactly one of pages, redirects, dead and drops, and the token of the lease that ended it
decides which of two answers is the newer one. Whoever changes a table adds a migration beside it.
"""

from shoal.store.tables.crawl import (
    contents,
    cookies,
    dead,
    drops,
    inputs,
    item_types,
    items,
    jobs,
    metadata,
    offers,
    pages,
    quality,
    redirects,
    rejects,
    robots,
    segments,
    tallies,
    waiting,
)
from shoal.store.tables.fleet import answers, deliveries, exclusions, hosts, runs, schedules, tokens

__all__ = [
    "answers",
    "contents",
    "cookies",
    "dead",
    "deliveries",
    "drops",
    "exclusions",
    "hosts",
    "inputs",
    "item_types",
    "items",
    "jobs",
    "metadata",
    "offers",
    "pages",
    "quality",
    "redirects",
    "rejects",
    "robots",
    "runs",
    "schedules",
    "segments",
    "tallies",
    "tokens",
    "waiting",
]
