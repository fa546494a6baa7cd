"""`python -m benchmarks.scrapy_schedulers [PAGES]`: one Scrapy spider on four schedulers, and what a page costs.

Prints the processor time of the spider and of Redis per page. scrapy-redis is installed aside, so that all four run on
the same Scrapy.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import links_site
from benchmarks.frontier_redis import Server, redis_server
from benchmarks.servers import Place, free_port, nginx

PAGES = 1_000
SHOAL = {"SCHEDULER": "shoal.scrapy.Scheduler", "DUPEFILTER_CLASS": "shoal.scrapy.DupeFilter"}
SCHEDULERS: dict[str, dict[str, Any]] = {
    "Scrapy, in memory": {},
    "scrapy-redis": {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    },
    "Shoal, Redis": {**SHOAL, "SHOAL_HOME": "home"},
    "Shoal, SQLite": {**SHOAL, "SHOAL_HOME": "home", "REDIS_URL": None},
}
USUAL = {
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "LOG_LEVEL": "ERROR",
}


def main(pages: int) -> None:
    with tempfile.TemporaryDirectory() as folder, redis_server(_made(folder, "redis"), append_only=True) as redis:
        aside = _made(folder, "aside")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(aside), "scrapy-redis"]
        subprocess.run(pip, check=True)
        place = Place(("127.0.0.1",), free_port(), tls=False)
        root = _made(folder, "site")
        links_site.build(root, pages, place.href)
        print(f"{'scheduler':20} {'ms/page':>8} {'Redis ms/page':>14} {'pages':>6}")
        with nginx(place, root, _made(folder, "nginx")):
            for name, settings in SCHEDULERS.items():
                given = {**USUAL, "REDIS_URL": redis.url, **settings}
                _measure(name, given, place.url(0), redis, _made(folder, name.replace(" ", "")), aside)


def _made(folder: str, name: str) -> Path:
    path = Path(folder) / name
    path.mkdir()
    return path


def _measure(name: str, settings: dict[str, Any], url: str, redis: Server, folder: Path, aside: Path) -> None:
    env = {**os.environ, "PYTHONPATH": f"{aside}:{Path(__file__).parents[1]}"}
    before, redis_before = resource.getrusage(resource.RUSAGE_CHILDREN), redis.cpu_s()
    argv = [sys.executable, "-m", "benchmarks.scrapy_schedulers", "--child", json.dumps(settings), url]
    ran = subprocess.run(argv, cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    pages = int(ran.stdout)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name:20} {used_s / pages * 1000:8.1f} {(redis.cpu_s() - redis_before) / pages * 1000:14.2f} {pages:6}")


def crawl(settings: dict[str, Any], url: str) -> None:
    from scrapy.crawler import CrawlerProcess

    from benchmarks.scrapy_peer import Links

    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Links)
    process.crawl(crawler, start_urls=[url])
    process.start()
    print(crawler.stats.get_value("pages", 0))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        crawl(json.loads(sys.argv[2]), sys.argv[3])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else PAGES)
