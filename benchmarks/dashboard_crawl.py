"""What open pages of the dashboard cost a crawl and the API.

A fleet of one worker crawls a shop again and again, by turns without anybody who looks and with three open pages that
refresh themselves. The CPU time of the worker for a page tells whether the crawl notices.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.visitor import Visitor, cpu_s
from shoal.practice import Shop, running
from shoal.store.fleet.tokens import TokenScope
from tests.control.live import Live, make_tokens, serving
from tests.fleet.running import Running

TURNS = 3
REFRESH_S = 3.0
SHOP = Shop(hosts=1, categories=12, products=4_000, troubled=False)


class Turn(NamedTuple):
    pages_per_s: float
    worker_ms: float
    """CPU time of the worker for a page."""
    api_share: float
    """Of a core."""


def crawl_beside_open_pages(database_url: str, pages: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        running(SHOP, log=Path(folder) / "site.log") as site,
        Running(Path(folder), processes=1, database_url=database_url) as fleet,
        serving(fleet.environment, Path(folder)) as (url, pid),
    ):
        live = Live(fleet, site, url, fleet.by_hand(make_tokens), pid)
        # The first crawl warms everything up.
        _turn(live, pages, is_open=False)
        turns = [(is_open, _turn(live, pages, is_open)) for _ in range(TURNS) for is_open in (False, True)]
    for is_open in (False, True):
        seen = [turn for was_open, turn in turns if was_open is is_open]
        words = "three open pages" if is_open else "nobody looks"
        rate, cpu, api = (sorted(values)[len(values) // 2] for values in zip(*seen, strict=True))
        spread = f"{min(turn.worker_ms for turn in seen):.2f} to {max(turn.worker_ms for turn in seen):.2f}"
        print(f"a crawl, {words}: {rate:.0f} pages/s, {cpu:.2f} ms of worker CPU a page ({spread}), API {api:.1%}")


def _turn(live: Live, pages: int, is_open: bool) -> Turn:
    worker = live.fleet.workers[0].pid
    before, api_before, began = cpu_s(worker), cpu_s(live.pid), time.monotonic()
    job = live.submit(live.site.url(), limits={"pages": pages})
    with _open_pages(live, job if is_open else None):
        live.fleet.until_ended(job, within_s=600.0)
    took = time.monotonic() - began
    return Turn(pages / took, (cpu_s(worker) - before) / pages * 1000, (cpu_s(live.pid) - api_before) / took)


@contextmanager
def _open_pages(live: Live, job: str | None) -> Iterator[None]:
    """Three pages, each in a browser of its own; without a job none."""
    is_over = threading.Event()
    paths = ("/", f"/jobs/{job}", "/fleet") if job else ()
    people = [threading.Thread(target=_look, args=(live, path, is_over)) for path in paths]
    for person in people:
        person.start()
    try:
        yield
    finally:
        is_over.set()
        for person in people:
            person.join()


def _look(live: Live, path: str, is_over: threading.Event) -> None:
    visitor = Visitor(live.url.removeprefix("http://"), live.tokens[TokenScope.ADMIN])
    while not is_over.wait(REFRESH_S):
        visitor.get(path)
