"""Pools of proxies: the time of a choice, what bad proxies cost, and the CPU of a crawl through many against one.

The server of the site is the proxy too: it answers requests that name it in full, as a proxy gets them. So nothing but
the crawl itself is measured.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import links_site
from benchmarks.contenders import SHOAL_PROGRAM, WORK, fresh, shoal_crawl
from benchmarks.measure import Run, measure
from benchmarks.servers import Place, free_port, nginx
from shoal.fetch.proxies.blame import Blame, Judgement
from shoal.fetch.proxies.exits import Exit
from shoal.fetch.proxies.pool import ProxyPool
from shoal.model.proxy_list import read_proxies

PROXIES = 1_000
PAGES = 5_000
CHOICES = 20_000
LEARNING = 300
"""Requests by which the pool must know the bad proxies well enough."""
HOSTS = 20
_BAD_IN_TEN = 3
_GOOD = Judgement(Blame.NOBODY, latency_s=0.1, size=1_000)
_DOWN = Judgement(Blame.PROXY, "connection refused")


@dataclass(frozen=True, slots=True)
class Proxied:
    proxies: int
    pages: int
    choice_us: list[float]
    """The median of a run's choices."""
    failed_share: list[float]
    """Of the requests after the first LEARNING, with 30 % bad proxies."""
    one: list[Run]
    many: list[Run]

    @property
    def cpu_ratios(self) -> list[float]:
        return [many.cpu_ms_per_page / one.cpu_ms_per_page for one, many in zip(self.one, self.many, strict=True)]


def proxied(pages: int, rounds: int) -> Proxied:
    choice_us, failed_share = [], []
    for number in range(rounds):
        took_us, share = _choices(number)
        print(f"proxies: {took_us:.1f} us per choice, {share:.2%} failed", file=sys.stderr)
        choice_us.append(took_us)
        failed_share.append(share)
    one, many = _crawls(pages, rounds)
    return Proxied(PROXIES, pages, choice_us, failed_share, one, many)


def _choices(seed: int) -> tuple[float, float]:
    """The median time of a choice, and the share of failed requests."""
    chance, now = random.Random(seed), 1_000_000.0
    proxies = read_proxies("\n".join(f"http://p{number}.example:1" for number in range(PROXIES)))
    bad = set(chance.sample(range(PROXIES), PROXIES * _BAD_IN_TEN // 10))
    pool = ProxyPool("benchmark", proxies, clock=lambda: now, chance=chance)
    took: list[int] = []
    failed = 0
    for number in range(CHOICES):
        began = time.perf_counter_ns()
        exit = pool.choose(f"h{number % HOSTS}.example")
        took.append(time.perf_counter_ns() - began)
        assert isinstance(exit, Exit)
        pool.note(exit, _DOWN if exit.place in bad else _GOOD)
        pool.end(exit)
        failed += exit.place in bad and number >= LEARNING
        now += 0.01
    return sorted(took)[CHOICES // 2] / 1_000, failed / (CHOICES - LEARNING)


def _crawls(pages: int, rounds: int) -> tuple[list[Run], list[Run]]:
    site, place = WORK / "proxies", Place(("127.0.0.1",), free_port(), tls=False)
    links_site.build(site, pages, place.href)
    proxy = place.url(0).rstrip("/")
    one: list[Run] = []
    many: list[Run] = []
    with fresh() as scratch, nginx(place, site, scratch) as extra:
        for runs, number in [(one, 1), (many, PROXIES)] * rounds:
            listed = scratch / "proxies.txt"
            listed.write_text("\n".join(f"{proxy} name=p{place}" for place in range(number)))
            runs.append(_crawl(place.url(0), pages, listed, extra))
    return one, many


def _crawl(url: str, pages: int, listed: Path, extra: dict[str, str]) -> Run:
    with fresh() as scratch:
        words = shoal_crawl(scratch / "home", url, "--max-pages", str(pages), "--proxies", str(listed))
        run = measure([*SHOAL_PROGRAM, *words], {"pages": pages}, scratch, extra)
    print(f"proxies: {run.cpu_ms_per_page:.2f} ms of CPU per page", file=sys.stderr)
    return run
