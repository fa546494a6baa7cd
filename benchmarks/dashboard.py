"""`python -m benchmarks.dashboard [--pages N]`: how long the pages of the dashboard take over a big store.

Fills a private PostgreSQL with 500 jobs, a million pages and 5,000 hosts, and a Redis with the clocks of the hosts.
Then it asks `shoal api` for each page, and measures what an open page that refreshes itself costs the API; and what it
costs a crawl (`dashboard_crawl.py`).
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psycopg

from benchmarks.dashboard_crawl import REFRESH_S, crawl_beside_open_pages
from benchmarks.visitor import Visitor, cpu_s
from shoal.fleet.fleet import Fleet
from shoal.frontier.contract import Terms
from shoal.model import JobSpec, JobState
from shoal.store.fleet.tokens import TokenScope
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job
from tests.control.live import make_tokens, serving
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.store.postgres_server import PostgresServer

JOBS, PAGES, HOSTS = 500, 1_000_000, 5_000
BIG_SHARE = 0.2
"""The first job has this share of all pages."""
TIMES = 40
WITHIN_MS, MOST_BYTES = 200, 300_000
OPEN_S = 30.0
CRAWLED = 4_000
START = 1_760_000_000


class Taken(NamedTuple):
    first_ms: float
    median_ms: float
    p95_ms: float
    most_ms: float
    bytes: int


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--crawled", type=int, default=CRAWLED, help="pages of each crawl beside open pages")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer() as postgres,
        fleet_shell(Path(folder), postgres.url()) as fleet,
    ):
        fleet.by_hand(_make_jobs)
        _fill(postgres.url(), options.pages)
        fleet.by_hand(_make_hosts)
        _measure(fleet, Path(folder))
    with PostgresServer() as postgres:
        crawl_beside_open_pages(postgres.url(), options.crawled)


async def _make_jobs(fleet: Fleet) -> None:
    for n in range(JOBS):
        create_job(fleet.store, f"job{n:08}", lambda n=n: JobSpec(f"site-{n}"), [], START + n, fleet=True)  # type: ignore[misc]
        set_state(fleet.store, f"job{n:08}", JobState.RUNNING, START + n)
        if n <= 2:
            await fleet.frontier.open_job(f"job{n:08}", Terms())
        else:
            set_state(fleet.store, f"job{n:08}", JobState.DONE, START + n + 86_400.0)


async def _make_hosts(fleet: Fleet) -> None:
    for n in range(HOSTS):
        await fleet.frontier.override(f"host{n}.example", rate=1.0 + n % 3, paused=n % 50 == 0)


def _fill(url: str, pages: int) -> None:
    """In the database itself: a million rows take seconds."""
    big = int(pages * BIG_SHARE)
    job = f"'job' || lpad((CASE WHEN n < {big} THEN 0 ELSE 1 + n % {JOBS - 1} END)::text, 8, '0')"
    at = f"{START} + n % 86400"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "INSERT INTO pages (job, fingerprint, token, url, host, status, depth, parent, content_type, bytes, digest,"
            " attempts, duration_ms, fetched_at, via, title)"
            f" SELECT {job}, n, 1, 'https://host' || n % {HOSTS} || '.example/articles/' || n, 'host' || n % {HOSTS} ||"
            " '.example', CASE WHEN n % 40 = 0 THEN 404 ELSE 200 END, n % 7, n / 10, 'text/html', 20000 + n % 9000,"
            f" md5(n::text), 1, 50 + n % 300, {at}, '', 'Article ' || n FROM generate_series(0, {pages - 1}) n"
        )
        db.execute(
            "INSERT INTO dead (job, fingerprint, token, url, host, reason, status, detail, depth, attempts, died_at,"
            " request)"
            f" SELECT {job}, n, 1, 'https://host' || n % {HOSTS} || '.example/dead/' || n, 'host' || n % {HOSTS} ||"
            f" '.example', 'http', 503, '', 1, 5, {at}, '[]' FROM generate_series(0, {pages - 1}, 50) n"
        )
        db.execute(
            "INSERT INTO items (job, page, ordinal, type, data, token)"
            f" SELECT {job}, n, 0, 'Article', json_build_object('title', 'Article ' || n, 'price', n % 100)::text, 1"
            f" FROM generate_series(0, {pages - 1}, 2) n"
        )
        db.execute(
            "INSERT INTO series SELECT 'job' || lpad(j::text, 8, '0'), m, 180, 4, '{\"200\": 4}', 80000, 2, 90, 300,"
            " 900"
            f" FROM generate_series(0, {JOBS - 1}) j, generate_series({START // 180 * 180}, {START + 86_400}, 180) m"
        )
        db.execute("VACUUM ANALYZE")


def _measure(fleet: FleetShell, folder: Path) -> None:
    tokens = fleet.by_hand(make_tokens)
    with serving(fleet.environment, folder) as (url, pid):
        visitor = Visitor(url.removeprefix("http://"), tokens[TokenScope.ADMIN])
        print(f"{'page':<34}{'first':>9}{'median':>9}{'p95':>9}{'most':>9}{'size':>10}")
        for name, path in _paths(visitor):
            taken = _take(visitor, path)
            mark = "" if taken.p95_ms <= WITHIN_MS and taken.bytes <= MOST_BYTES else "  <- too much"
            times = (
                f"{taken.first_ms:>6.0f} ms{taken.median_ms:>6.0f} ms{taken.p95_ms:>6.0f} ms{taken.most_ms:>6.0f} ms"
            )
            print(f"{name:<34}{times}{taken.bytes / 1000:>7.0f} kB{mark}", flush=True)
        for name, path in (("jobs", "/"), ("a running job of 200,000 pages", "/jobs/job00000000"), ("fleet", "/fleet")):
            print(f"{name}, open: {_share_of_core(visitor, path, pid):.1%} of a core")


def _paths(visitor: Visitor) -> Iterator[tuple[str, str]]:
    yield "jobs", "/"
    older = re.search(r'href="(/\?after=[^"]+)"', visitor.get("/"))
    yield "jobs, second part", older[1] if older else "/"
    for name, job in (("big job", "job00000000"), ("small job", "job00000123")):
        for tab in ("", "/errors", "/items", "/pages", "/skipped", "/options", "/log"):
            yield f"{name} {tab or 'overview'}", f"/jobs/{job}{tab}"
    yield "big job, pages with 404", "/jobs/job00000000/pages?status=404"
    yield "big job, page", f"/jobs/job00000000/pages/{7:016x}"
    yield "big job, explain", f"/jobs/job00000000/explain?url={quote('https://host7.example/articles/7')}"
    yield "fleet", "/fleet"


def _take(visitor: Visitor, path: str) -> Taken:
    """The first call is apart: an open page asks again and again."""
    times, size = [], 0
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        size = len(visitor.get(path))
        times.append((time.perf_counter() - began) * 1000)
    first, *others = times
    others.sort()
    return Taken(first, others[len(others) // 2], others[int(len(others) * 0.95)], others[-1], size)


def _share_of_core(visitor: Visitor, path: str, pid: int) -> float:
    before, began = cpu_s(pid), time.monotonic()
    while time.monotonic() - began < OPEN_S:
        visitor.get(path)
        time.sleep(REFRESH_S)
    return (cpu_s(pid) - before) / (time.monotonic() - began)


if __name__ == "__main__":
    main()
