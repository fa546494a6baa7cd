"""What plain fetches of a fleet lose while its browser is busy: a plain worker on one core, a browser on another.

The job that is measured has a lane of its own, which only the plain worker serves. The sites, Redis and tend are on its
core.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks import links_site
from benchmarks.api.served import on_core, two_cores
from benchmarks.contenders import CONCURRENCY, WORK, fresh
from benchmarks.fleet.ours import POLL_S, Fleet, fleet, lasted_s
from benchmarks.fleet.session import Session
from benchmarks.measure import LIMIT_S, CannotMeasure, Window
from benchmarks.rendering import shell_site
from benchmarks.servers import Place, free_port, nginx
from benchmarks.site import address

RENDERED = 2_000
"""More than a browser renders while the plain jobs run."""
WARM = 8


@dataclass(frozen=True, slots=True)
class Beside:
    pages: int
    alone: list[Window]
    beside: list[Window]
    """CPU is that of the plain worker."""
    rendered_per_s: float
    """What the browser did meanwhile."""


def beside(pages: int, rounds: int) -> Beside:
    plain, shells = (Place(("127.0.0.1",), free_port(), tls=False) for _ in range(2))
    links_site.build(WORK / "beside", pages, address)
    shell_site.build(WORK / "beside-shells", RENDERED)
    cores = two_cores()
    with on_core(cores.crawl), fresh() as scratch:
        (scratch / "shells").mkdir()
        with (
            nginx(plain, WORK / "beside", scratch),
            nginx(shells, WORK / "beside-shells", scratch / "shells"),
            fleet(scratch) as ours,
        ):
            ours.tend()
            worker = ours.worker("express")
            with on_core(cores.api):
                ours.worker("batch", browsers=True)
            # The first job loads what all others use.
            _fetched(ours, worker, plain.url(0), pages)
            alone = [_fetched(ours, worker, plain.url(0), pages) for _ in range(rounds)]
            rendering = ours.submit(shells.url(0), "--lane", "batch", "--render", "always", "--per-host", CONCURRENCY)
            before = _rendered(ours, rendering, WARM)
            began = time.monotonic()
            busy = [_fetched(ours, worker, plain.url(0), pages) for _ in range(rounds)]
            done = ours.job(rendering)["pages"]
            rendered_per_s = (done - before) / (time.monotonic() - began)
            if done >= RENDERED:
                raise CannotMeasure(f"the browser had rendered all {RENDERED:,} pages before the plain jobs ended")
            ours.cancel(rendering)
    return Beside(pages, alone, busy, rendered_per_s)


def _fetched(ours: Fleet, worker: Session, url: str, pages: int) -> Window:
    used_s = worker.cpu_s()
    figures = ours.wait(ours.submit(url, "--lane", "express", "--no-text", "--per-host", CONCURRENCY))
    if figures["pages"] != pages:
        raise CannotMeasure(f"a job brought {figures['pages']} pages instead of {pages}")
    return Window(pages, worker.cpu_s() - used_s, lasted_s(figures))


def _rendered(ours: Fleet, job: str, at_least: int) -> int:
    """Waits until the browser is busy. Returns how many pages it has rendered."""
    deadline = time.monotonic() + LIMIT_S
    while (done := int(ours.job(job)["pages"])) < at_least:
        if time.monotonic() > deadline:
            raise CannotMeasure(f"the browser rendered {done} pages within {LIMIT_S:.0f} s")
        time.sleep(POLL_S)
    return done
