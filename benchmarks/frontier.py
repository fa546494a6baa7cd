"""`python -m benchmarks.frontier [--urls N]`: measures the Redis frontier under simulated workers.

Fills it with N URLs at ten per host and crawls from it without any network. Measures bytes per URL, calls per second,
Redis's own time per page, the smallest gap between requests to a host, and turns between jobs. For comparison, it
measures the layout of scrapy-redis and one Celery task per URL with the same URLs.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.frontier_load import Driven, Filled, Turns, drive, fill, take_turns
from benchmarks.frontier_redis import redis_server
from benchmarks.frontier_rivals import TASKS, Enqueued, Rival, enqueue, scrapy_redis
from benchmarks.measure import CannotMeasure

URLS = 10_000_000
RIVAL_URLS = 200_000
WORKERS = 4


def main() -> None:
    options = _arguments()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            asyncio.run(_measure(Path(scratch), options.urls, options.pages))
    except CannotMeasure as error:
        sys.exit(f"error: {error}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description=__doc__)
    parser.add_argument("--urls", type=int, default=URLS, metavar="N", help="URLs to fill it with (%(default)s)")
    parser.add_argument("--pages", type=int, default=20_000, metavar="N", help="pages to crawl from it (%(default)s)")
    return parser.parse_args()


async def _measure(scratch: Path, urls: int, pages: int) -> None:
    # Without the append-only file: it would take gigabytes, and its fsyncs would measure the disk.
    with redis_server(scratch, append_only=False) as server:
        print(f"Redis {server.version()}, {urls:,} URLs over {urls // 10:,} hosts")
        _print_filled(await fill(server, urls))
        _print_driven("crawl", await drive(server, urls, pages, WORKERS))
    small = min(urls, 100_000)
    with redis_server(scratch, append_only=True) as server:
        await fill(server, small)
        _print_driven(f"crawl, append-only file, {small:,} URLs", await drive(server, small, pages // 4, WORKERS))
    with redis_server(scratch, append_only=False) as server:
        _print_turns(await take_turns(server))
        _print_rival(scrapy_redis(server, min(urls, RIVAL_URLS)))
        _print_enqueued(await enqueue(server))


def _print_filled(filled: Filled) -> None:
    sets = "all intsets" if filled.intsets else "NOT ALL INTSETS"
    print(f"offered   {filled.urls / filled.seconds:,.0f} URLs/s")
    print(f"seen      {filled.seen_bytes:.1f} B per URL, {sets}")
    print(f"queued    {filled.queued_bytes:.1f} B more per URL")


def _print_driven(name: str, driven: Driven) -> None:
    print(
        f"{name}: {driven.pages:,} pages of 70 links, 7 of them new: {driven.pages_per_s:,.0f} pages/s, "
        f"{driven.calls_per_s:,.0f} calls/s, {driven.redis_ms_per_page:.3f} ms of Redis per page"
    )


def _print_turns(turns: Turns) -> None:
    shares = ", ".join(f"{job} {n:,}" for job, n in turns.starts.items())
    print(
        f"smallest gap {turns.smallest_gap_s * 1000:.1f} ms, limit {turns.asked_gap_s * 1000:.0f} ms; starts: {shares}"
    )


def _print_rival(rival: Rival) -> None:
    print(f"scrapy-redis layout: seen {rival.seen_bytes:.1f} B, queued {rival.queued_bytes:.1f} B per URL")


def _print_enqueued(enqueued: Enqueued) -> None:
    times = enqueued.applied_s / enqueued.offered_s
    print(
        f"{TASKS:,} URLs offered in {enqueued.offered_s:.3f} s, "
        f"applied as Celery tasks in {enqueued.applied_s:.2f} s: {times:.0f} x"
    )


if __name__ == "__main__":
    main()
