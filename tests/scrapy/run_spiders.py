"""Runs several spiders of the project in one process: python run_spiders.py OUTPUT SITE NAMES SETTINGS"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings


def main(output: str, site: str, names: str, given: str) -> None:
    settings = get_project_settings()
    settings.update(json.loads(given), priority="cmdline")
    process = CrawlerProcess(settings)
    found: dict[str, list[Any]] = {name: [] for name in names.split(",")}
    for name, items in found.items():
        crawler = process.create_crawler(name)

        def keep(item: Any, items: list[Any] = items) -> None:
            items.append(dict(item))

        crawler.signals.connect(keep, signals.item_scraped, weak=False)
        process.crawl(crawler, site=site)
    process.start()
    Path(output).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
