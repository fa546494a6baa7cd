"""`python -m benchmarks.scrapy_chain [PAGES]`: pages that can only be fetched one after the other, on three schedulers.

Each callback yields the next request, so whatever a scheduler takes between a callback and a download adds to every
page. Prints wall-clock and processor time per page: the least of several runs, which take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.frontier_redis import redis_server
from benchmarks.scrapy_schedulers import SHOAL
from benchmarks.servers import Place, free_port, nginx

PAGES, FIRST, RUNS = 300, 10, 5
SCHEDULERS: dict[str, dict[str, Any]] = {
    "Scrapy, in memory": {},
    "Shoal, SQLite": {**SHOAL, "SHOAL_HOME": "home"},
    "Shoal, Redis": {**SHOAL, "SHOAL_HOME": "home", "REDIS_URL": ""},
}
USUAL = {"ROBOTSTXT_OBEY": False, "DOWNLOAD_DELAY": 0, "LOG_LEVEL": "ERROR"}


def main(pages: int) -> None:
    least: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as name, redis_server(_made(Path(name, "redis")), append_only=True) as redis:
        place, folder = Place(("127.0.0.1",), free_port(), tls=False), Path(name)
        (_made(folder / "site") / "page.html").write_text("<title>A page</title>")
        with nginx(place, folder / "site", _made(folder / "nginx")):
            for run in range(RUNS):
                for kind, settings in SCHEDULERS.items():
                    given = {**USUAL, **settings, **({"REDIS_URL": redis.url} if "REDIS_URL" in settings else {})}
                    argv = [sys.executable, "-m", "benchmarks.scrapy_chain", "--child", json.dumps(given)]
                    argv += [str(folder / f"{kind} {run}"), place.url(0), str(pages)]
                    ran = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
                    wall_ms, cpu_ms = json.loads(ran.stdout)
                    least[kind] = min(least.get(kind, (wall_ms, cpu_ms)), (wall_ms, cpu_ms))
    for kind, (wall_ms, cpu_ms) in least.items():
        print(f"{kind:20} {wall_ms:6.2f} ms/page, {cpu_ms:6.2f} ms of processor time")


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def crawl(settings: dict[str, Any], home: str, url: str, pages: int) -> None:
    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess

    class Chain(Spider):
        name = "chain"
        start_urls = (f"{url}page.html?n=0",)

        def parse(self, response: Any, n: int = 0) -> Iterator[Any]:
            if n == FIRST:
                self.began = time.perf_counter(), time.process_time()
            if n < FIRST + pages:
                yield Request(f"{url}page.html?n={n + 1}", cb_kwargs={"n": n + 1})
            else:
                ended = time.perf_counter(), time.process_time()
                print(json.dumps([(b - a) / pages * 1000 for a, b in zip(self.began, ended, strict=True)]))

    process = CrawlerProcess({**settings, "SHOAL_HOME": home})
    process.crawl(Chain)
    process.start()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        crawl(json.loads(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else PAGES)
