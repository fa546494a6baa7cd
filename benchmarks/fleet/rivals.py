"""What a fleet is compared with: programs that wait for a first URL in Redis, and end after a number of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from celery import Celery

from benchmarks.contenders import HERE, PEERS_PYTHON
from benchmarks.frontier_redis import Server


@dataclass(frozen=True, slots=True)
class Rival:
    name: str
    version: str
    requires: tuple[str, ...]
    script: str
    words: tuple[str, ...]
    seed: Callable[[Server, str], None]
    """Hands it the URL of the front page."""
    most_pages: int
    """More would take too long; what a page costs does not depend on their number."""

    def command(self, pages: int) -> list[str]:
        return [PEERS_PYTHON, "-P", str(HERE / "fleet" / self.script), str(pages), *self.words]


def _push(server: Server, url: str) -> None:
    server.client.lpush("links:start_urls", url)


def _send(server: Server, url: str) -> None:
    server.client.sadd("seen", url)
    with Celery(broker=server.url) as app:
        app.send_task("crawl", [url])


_CELERY = ("celery[redis]==5.7.0", "httpx==0.28.1")

SCRAPY_REDIS = Rival(
    "scrapy-redis",
    "0.9.1 on Scrapy 2.19.0",
    ("scrapy==2.19.0", "scrapy-redis==0.9.1"),
    "scrapy_redis_peer.py",
    (),
    _push,
    most_pages=5_000,
)
TASKS = Rival(
    "Celery, a task per URL",
    "5.7.0, httpx 0.28.1, Beautiful Soup 4.15.0",
    (*_CELERY, "beautifulsoup4==4.15.0"),
    "celery_peer.py",
    ("tutorial",),
    _send,
    most_pages=2_000,
)
TUNED_TASKS = Rival(
    "Celery, a task per URL, tuned",
    "5.7.0, httpx 0.28.1, selectolax 1.0.2",
    (*_CELERY, "selectolax==1.0.2"),
    "celery_peer.py",
    ("tuned",),
    _send,
    most_pages=5_000,
)
RIVALS = (SCRAPY_REDIS, TASKS, TUNED_TASKS)
