"""A crawl whose figures are asked for a hundred times a second: how soon they are told, and what the crawl pays."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from benchmarks import links_site
from benchmarks.api.asking import Call, asking
from benchmarks.api.served import Cores, Served, on_core, served
from benchmarks.contenders import CONCURRENCY, WORK, fresh
from benchmarks.fleet.latency_site import hosts
from benchmarks.fleet.ours import lasted_s, moment
from benchmarks.fleet.session import Session
from benchmarks.fleet.versus import FleetRun
from benchmarks.measure import LIMIT_S, CannotMeasure
from benchmarks.servers import Place, free_port, nginx
from benchmarks.site import address
from shoal.client import Job

SITES = hosts(4, 4)
"""Each has all pages of the site, with links to its own."""
_SITE = WORK / "api"
_UNHINDERED: dict[str, Any] = {
    "politeness": {"rate": 0, "per_host": int(CONCURRENCY), "robots": False},
    "archive": False,
    "text": False,
    "allow_private": True,
}


@dataclass(frozen=True, slots=True)
class Told:
    """The calls of one crawl, from its beginning to its end."""

    calls: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    api_ms: float
    """CPU of the API per call."""


@dataclass(frozen=True, slots=True)
class Status:
    pages: int
    alone: list[FleetRun]
    asked: list[FleetRun]
    """In rounds with the former, as is the next."""
    told: list[Told]


@dataclass(frozen=True, slots=True)
class _Crawl:
    run: FleetRun
    api_cpu_s: float
    calls: list[Call]


def status(cores: Cores, pages: int, rounds: int) -> Status:
    links_site.build(_SITE, pages // len(SITES), address)
    alone, asked, told = list[FleetRun](), list[FleetRun](), list[Told]()
    for _ in range(rounds):
        alone.append(_crawl(cores, pages, calling=False).run)
        crawl = _crawl(cores, pages, calling=True)
        asked.append(crawl.run)
        told.append(_told(crawl))
        print(f"api: {crawl_ms(alone[-1]):.3f} ms per page, asked {crawl_ms(asked[-1]):.3f}", file=sys.stderr)
    return Status(pages, alone, asked, told)


def crawl_ms(run: FleetRun) -> float:
    """Per page, of workers, tend and Redis, which serves the API as well."""
    return run.cpu_ms_per_page + run.tend_ms_per_page + run.redis_ms_per_page


def _crawl(cores: Cores, pages: int, *, calling: bool) -> _Crawl:
    place = Place(tuple(SITES), free_port(), tls=False)
    with (
        fresh() as scratch,
        on_core(cores.crawl),
        nginx(place, _SITE, scratch),
        served(scratch, cores) as ours,
        ours.client() as client,
    ):
        worker = ours.worker()
        before_s = _used_s(ours, worker)
        job = client.submit([f"http://{host}:{place.port}/" for host in SITES], **_UNHINDERED)["id"]
        with asking(ours.client, job) if calling else nullcontext(list[Call]()) as calls:
            figures = client.wait(job, LIMIT_S)
        used_s = [now - then for now, then in zip(_used_s(ours, worker), before_s, strict=True)]
        worker_s, redis_s, tend_s, api_s = used_s
        run = FleetRun(pages, worker_s, lasted_s(figures), worker.peak_bytes(), redis_s, tend_s)
    if (figures["state"], figures["pages"]) != ("done", pages):
        raise CannotMeasure(f"the job is {figures['state']} with {figures['pages']:,} pages instead of {pages:,}")
    return _Crawl(run, api_s, _while_it_ran(calls, figures))


def _used_s(ours: Served, worker: Session) -> tuple[float, ...]:
    return worker.cpu_s(), ours.fleet.redis.cpu_s(), ours.tend.cpu_s(), ours.api.cpu_s()


def _while_it_ran(calls: list[Call], figures: Job) -> list[Call]:
    """That a job has ended is known a moment later."""
    assert figures["finished_at"] is not None
    ended_at = moment(figures["finished_at"]) - time.time() + time.monotonic()
    return [call for call in calls if call.due_at < ended_at]


def _told(crawl: _Crawl) -> Told:
    took_ms = [1000 * call.took_s for call in crawl.calls]
    percentiles = quantiles(took_ms, n=100, method="inclusive")
    return Told(len(took_ms), percentiles[49], percentiles[98], max(took_ms), 1000 * crawl.api_cpu_s / len(took_ms))
