"""A fleet with its API, pinned: what crawls on one core, the API and whoever calls it on another.

The site, Redis, tend and workers are the crawl's, so that nothing but its callers shares a core with the API.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.fleet.ours import Fleet, fleet
from benchmarks.fleet.session import Session
from benchmarks.measure import LIMIT_S, CannotMeasure
from benchmarks.servers import free_port
from shoal.client import Client, Job

HOSTS = 1_000
POLL_S = 0.01


class Cores(NamedTuple):
    crawl: int
    api: int


def two_cores() -> Cores:
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise CannotMeasure("two cores are needed: one for the crawl, the other for the API")
    return Cores(*usable[:2])


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """What the block starts runs on this core alone, and so does this thread until its end."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True, slots=True)
class Served:
    fleet: Fleet
    tend: Session
    api: Session
    url: str
    token: str
    cores: Cores

    def client(self) -> Client:
        return Client(self.url, self.token)

    def worker(self) -> Session:
        with on_core(self.cores.crawl):
            return self.fleet.worker()


@contextmanager
def served(scratch: Path, cores: Cores) -> Iterator[Served]:
    """The block runs on the API's core."""
    with on_core(cores.crawl), fleet(scratch) as ours:
        tend = ours.tend()
        with on_core(cores.api):
            port = free_port()
            api = ours.start(["api", "--port", str(port)])
            api.settle()
            token = (scratch / "home" / "admin-token").read_text().strip()
            yield Served(ours, tend, api, f"http://127.0.0.1:{port}", token, cores)


def somewhere(urls: int) -> Iterator[str]:
    """As many URLs, on hosts that nobody asks."""
    return (f"http://site-{n % HOSTS}.example/article/{n}.html" for n in range(urls))


def await_found(client: Client, id: str, urls: int) -> Job:
    """Until tend has put that many URLs of a job into the frontier, where they can be leased."""
    deadline = time.monotonic() + LIMIT_S
    while (job := client.job(id))["found"] < urls:
        if time.monotonic() > deadline:
            raise CannotMeasure(f"of {urls:,} URLs, {job['found']:,} are in the frontier")
        time.sleep(POLL_S)
    return job
