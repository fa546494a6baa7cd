"""A job that has ended, for tests that only look at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.practice import Running, Shop, running
from tests.cli.conftest import Here, Shell


@dataclass(frozen=True)
class Crawled:
    shoal: Shell
    site: Running
    summary: dict[str, Any]


@contextmanager
def crawled(folder: Path, *options: str) -> Iterator[Crawled]:
    """The troubled site, whose failing pages are dead at once; the site is still up."""
    shoal = Here(folder)
    with running(Shop(hosts=1, categories=2, products=12)) as site:
        yield Crawled(shoal, site, shoal.crawl(site.url(), "--retries", "0", *options).summary)
