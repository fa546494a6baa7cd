"""Simulated workers on a Redis frontier: they fill it, crawl from it, and take turns on a few hosts."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.frontier_redis import Server
from shoal.frontier.contract import Caller, Terms
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.frontier.redis.shard import TAG
from shoal.model import Completion, Landing, Lease, Offer, Outcome, Target, Trail
from shoal.urls import fingerprint

URLS_PER_HOST = 10
LINKS = 70
NEW_LINKS = 7
BATCH = 16
"""Pages whose landings and completions a worker reports in one call, like the engine."""
BOUNDS = PoolLimits(queued_per_job=10**9, queued_in_all=10**9)


@dataclass(frozen=True, slots=True)
class Filled:
    urls: int
    seconds: float
    seen_bytes: float
    queued_bytes: float
    intsets: bool


@dataclass(frozen=True, slots=True)
class Driven:
    pages: int
    pages_per_s: float
    calls_per_s: float
    redis_ms_per_page: float


@dataclass(frozen=True, slots=True)
class Turns:
    smallest_gap_s: float
    asked_gap_s: float
    starts: dict[str, int]
    """Job -> number of starts."""


def link(number: int, hosts: int) -> Target:
    host = f"www.site-{number % hosts}.example"
    url = f"https://{host}/section-{number % 97}/article-{number}.html"
    return Target(url, fingerprint(url), host)


def pages(first: int, last: int, hosts: int) -> Iterator[Offer]:
    """Each page's new links go to as many hosts, so that every URL is an element of its own: the worst case."""
    for start in range(first, last, NEW_LINKS):
        targets = [link(number, hosts) for number in range(start, min(start + NEW_LINKS, last))]
        yield Offer("job", targets, Trail(depth=3, parent=fingerprint(f"page {start}")))


async def fill(server: Server, urls: int) -> Filled:
    frontier, caller = await RedisFrontier.open(server.url, BOUNDS), Caller("fill")
    await frontier.open_job("job", Terms(gap_s=0.5, per_host=2))
    empty_bytes, began, part = server.used_bytes(), time.monotonic(), list[Offer]()
    for offer in pages(0, urls, urls // URLS_PER_HOST):
        part.append(offer)
        if len(part) == 500 // NEW_LINKS:
            await frontier.offer(caller.next(), part)
            part = []
    await frontier.offer(caller.next(), part)
    seconds = time.monotonic() - began
    await frontier.close()
    seen_bytes, intsets = _seen(server, urls)
    queued_bytes = (server.used_bytes() - empty_bytes) / urls - seen_bytes
    return Filled(urls, seconds, seen_bytes, queued_bytes, intsets)


def _seen(server: Server, urls: int) -> tuple[float, bool]:
    """Bytes per URL, including the bucket's entry in Redis's main table, and whether every bucket is an intset."""
    total, encodings, keys = 0, set[bytes](), []
    for key in server.client.scan_iter(f"{TAG}:s:*", count=5000):
        keys.append(key)
        if len(keys) == 5000:
            total += _usage(server, keys, encodings)
            keys = []
    total += _usage(server, keys, encodings)
    return total / urls, encodings == {b"intset"}


def _usage(server: Server, keys: list[bytes], encodings: set[bytes]) -> int:
    pipe = server.client.pipeline(transaction=False)
    for key in keys:
        pipe.memory_usage(key)
        pipe.object("encoding", key)
    answers = pipe.execute()
    encodings.update(answers[1::2])
    table_slot_bytes = 12
    return int(sum(answers[::2])) + table_slot_bytes * len(keys)


async def drive(server: Server, known: int, n: int, workers: int) -> Driven:
    """Crawls `n` pages from a frontier with `known` URLs; each page has 63 known links and 7 new ones."""
    frontiers = [await RedisFrontier.open(server.url, BOUNDS) for _ in range(workers)]
    navigation = [link(number, known // URLS_PER_HOST) for number in range(LINKS - NEW_LINKS)]
    numbers, left = iter(range(known, known * 100, NEW_LINKS)), [n]

    async def work(frontier: RedisFrontier, name: str) -> None:
        caller = Caller(name)
        while left[0] > 0:
            leases = await frontier.lease(caller.next(), BATCH)
            left[0] -= len(leases)
            await frontier.landed(caller.next(), [Landing(lease.token, 0.05, 200) for lease in leases])
            offers = [_found_on(lease, navigation, next(numbers), known // URLS_PER_HOST) for lease in leases]
            await frontier.offer(caller.next(), offers)
            await frontier.complete(caller.next(), [Completion(lease.token, Outcome.DONE) for lease in leases])

    cpu_s, calls, began = server.cpu_s(), server.calls(), time.monotonic()
    await asyncio.gather(*(work(frontier, f"w{place}") for place, frontier in enumerate(frontiers)))
    seconds, done = time.monotonic() - began, n - left[0]
    driven = Driven(done, done / seconds, (server.calls() - calls) / seconds, (server.cpu_s() - cpu_s) * 1000 / done)
    for frontier in frontiers:
        await frontier.close()
    return driven


def _found_on(lease: Lease, navigation: list[Target], number: int, hosts: int) -> Offer:
    new = [link(number + place, hosts) for place in range(NEW_LINKS)]
    return Offer(lease.job, [*navigation, *new], Trail(lease.trail.depth + 1, parent=lease.target.fingerprint))


async def take_turns(server: Server, seconds: float = 5.0) -> Turns:
    """Three jobs of different size on the same 200 hosts, with ten starts a second per host, and eight workers."""
    gap_s, chance = 0.1, random.Random(7)
    frontiers = [await RedisFrontier.open(server.url, BOUNDS) for _ in range(8)]
    for job, urls in {"large": 100, "small": 10, "smaller": 5}.items():
        await frontiers[0].open_job(job, Terms(gap_s=gap_s, per_host=20))
        targets = [_turn_link(job, host, number) for host in range(200) for number in range(urls)]
        await frontiers[0].offer(Caller(f"seed-{job}").next(), [Offer(job, targets)])
    planned: defaultdict[str, list[float]] = defaultdict(list)
    starts: Counter[str] = Counter()
    deadline = time.monotonic() + seconds

    async def work(frontier: RedisFrontier, name: str) -> None:
        caller = Caller(name)
        while time.monotonic() < deadline:
            leases = await frontier.lease(caller.next(), BATCH)
            starts.update(lease.job for lease in leases)
            for lease in leases:
                planned[lease.target.host].append(lease.token / 1e6 + lease.wait_s)
            await asyncio.sleep(chance.uniform(0, 0.02))
            await frontier.landed(caller.next(), [Landing(lease.token, 0.05, 200) for lease in leases])
            await frontier.complete(caller.next(), [Completion(lease.token, Outcome.DONE) for lease in leases])

    await asyncio.gather(*(work(frontier, f"t{place}") for place, frontier in enumerate(frontiers)))
    for frontier in frontiers:
        await frontier.close()
    gaps = [later - sooner for times in planned.values() for sooner, later in pairwise(sorted(times))]
    return Turns(min(gaps), gap_s, dict(starts))


def _turn_link(job: str, host: int, number: int) -> Target:
    url = f"https://turn-{host}.example/{job}/{number}"
    return Target(url, fingerprint(url), f"turn-{host}.example")
