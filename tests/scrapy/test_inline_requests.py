"""Requests that go past the scheduler keep the clocks of hosts too: robots.txt, media and downloads in callbacks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shoal.practice.process import Running
from shoal.practice.request_log import LogEntry
from tests.frontier.redis_server import RedisServer
from tests.scrapy.crawling import Spider, run_spiders, stored_items

DELAY_S = 0.05
PAGES = 16


def gallery(tmp_path: Path, **settings: Any) -> dict[str, Any]:
    pipelines = '{"scrapy.pipelines.files.FilesPipeline": 1, "shoal.scrapy.Pipeline": 900}'
    return {"ROBOTSTXT_OBEY": True, "FILES_STORE": tmp_path / "files", "ITEM_PIPELINES": pipelines, **settings}


def kinds(log: list[LogEntry]) -> Counter[str]:
    return Counter(visit.path.partition("?")[0] for visit in log)


def test_three_processes_keep_the_rate_of_a_host_with_all_their_requests(
    large_shop: Running, tmp_path: Path, redis: RedisServer
) -> None:
    settings = gallery(tmp_path, REDIS_URL=redis.url, SHOAL_JOB="three", DOWNLOAD_DELAY=DELAY_S)
    spiders = [Spider("gallery", large_shop, tmp_path, output=f"{n}.jsonl", **settings) for n in range(3)]
    for spider in spiders:
        spider.wait()
    log = large_shop.log()
    counts = kinds(log)
    # A file that two processes request at the same time is no error.
    assert (counts["/about.html"], counts["/contact.html"], counts["/feed.xml"]) == (PAGES, PAGES, 2 * PAGES)
    assert counts["/robots.txt"] <= 3
    assert stored_items(tmp_path, "three").total() == PAGES
    starts = sorted(visit.t_start for visit in log)
    assert starts[-1] - starts[0] >= (len(starts) - 1) * DELAY_S * 0.95


@pytest.mark.parametrize("per_host", [1, 3])
def test_no_more_are_in_flight_at_a_host_than_the_project_says(
    large_shop: Running, tmp_path: Path, per_host: int
) -> None:
    large_shop.control(latency_ms=20)
    settings = {
        "ROBOTSTXT_OBEY": True,
        "FILES_STORE": str(tmp_path / "files"),
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1, "shoal.scrapy.Pipeline": 900},
        "CONCURRENT_REQUESTS_PER_DOMAIN": per_host,
    }
    items = run_spiders(["gallery"], large_shop, tmp_path, **settings)["gallery"]
    assert items.total() == PAGES
    log = large_shop.log()
    assert len(log) == 2 + 4 * PAGES
    moments = sorted([(visit.t_start, 1) for visit in log] + [(visit.t_end, -1) for visit in log])
    running = most = 0
    for _, change in moments:
        running += change
        most = max(most, running)
    assert most <= per_host
