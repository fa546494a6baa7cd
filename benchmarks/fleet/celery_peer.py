"""One Celery task per URL: `REDIS_URL=... python -P celery_peer.py PAGES tutorial|tuned`, where Celery is installed.

Each task fetches a page, adds its links to a shared set, and makes a task of each that is new. `tutorial` is what
tutorials write: httpx.get and Beautiful Soup; `tuned` keeps the connection and reads pages with lexbor. It waits for
its first task, and ends after that many pages.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, NamedTuple
from urllib.parse import urljoin

import httpx  # type: ignore[import-not-found]
from celery import Celery
from redis import Redis

PROCESSES = 2
PAGES, TUNED = int(sys.argv[1]), sys.argv[2] == "tuned"

app = Celery("peer", broker=os.environ["REDIS_URL"])
app.conf.update(task_ignore_result=True, worker_redirect_stdouts=False)
shared: Any = Redis.from_url(os.environ["REDIS_URL"])


class Read(NamedTuple):
    title: str
    hrefs: list[str]


if TUNED:
    from selectolax.lexbor import LexborHTMLParser

    get = httpx.Client().get

    def read(html: str) -> Read:
        page: Any = LexborHTMLParser(html)
        return Read(page.css_first("title").text(), [link.attributes["href"] for link in page.css("a[href]")])

else:
    from bs4 import BeautifulSoup  # type: ignore[import-not-found]

    get = httpx.get

    def read(html: str) -> Read:
        page: Any = BeautifulSoup(html, "html.parser")
        return Read(page.title.text, [link["href"] for link in page.find_all("a", href=True)])


@app.task(name="crawl")  # type: ignore[untyped-decorator]
def crawl(url: str) -> None:
    response = get(url)
    title, hrefs = read(response.text)
    for href in hrefs:
        target = urljoin(url, href)
        if shared.sadd("seen", target):
            crawl.delay(target)
    kept = json.dumps({"url": url, "title": title, "status": response.status_code})
    if shared.rpush("pages", kept) == PAGES:
        os.kill(os.getppid(), signal.SIGTERM)


if __name__ == "__main__":
    app.Worker(pool="prefork", concurrency=PROCESSES, loglevel="ERROR").start()
    print(json.dumps({"type": "summary", "pages": shared.llen("pages")}))
