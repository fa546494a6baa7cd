"""Growth: is a crawl that knows a million URLs as fast as one that knows ten thousand?

The site grows the number of known URLs in stages, by page number; a crawl fetches the pages nearly in order. A few
pages link to the first 10,000 URLs. The pages of a first window link only to those. Further pages link to all others,
and the pages of a second window link to any of the million. Then the crawl is killed and resumed, and another started.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contenders import SHOAL_PROGRAM, shoal_crawl
from benchmarks.growth_site import GrowthSite, anywhere, neighbourly, serving
from benchmarks.links_site import LINKS
from benchmarks.measure import LIMIT_S, CannotMeasure, Window, environment
from benchmarks.process import Process, running

SHAPES = {"repeat locally": neighbourly, "lead anywhere": anywhere}


@dataclass(frozen=True, slots=True)
class Stages:
    few: int
    many: int
    window: int
    """Pages measured in each window."""
    settling: int
    """Pages of a window before the measurement, so that earlier pages are stored by then."""

    @property
    def at_few(self) -> int:
        """The first page of the first window."""
        return _pages_for(self.few)

    @property
    def growing(self) -> int:
        """The first page that links to others than the few."""
        return self.at_few + self.settling + self.window

    @property
    def at_many(self) -> int:
        return self.growing + _pages_for(self.many - self.few)

    @property
    def end(self) -> int:
        return self.at_many + self.settling + self.window

    def links(self, number: int, shape: Callable[[int, int], list[int]]) -> list[int]:
        if number < self.at_few:
            return _brought(1 + LINKS * number, self.few)
        if number < self.growing:
            return shape(number, self.few)
        if number < self.at_many:
            return _brought(self.few + LINKS * (number - self.growing), self.many)
        return shape(number, self.many)


WHOLE = Stages(few=10_000, many=1_000_000, window=3_000, settling=1_000)
QUICK = Stages(few=1_000, many=20_000, window=200, settling=400)


def _pages_for(urls: int) -> int:
    return -(-urls // LINKS)


def _brought(first: int, known: int) -> list[int]:
    return [min(first + step, known - 1) for step in range(LINKS)]


@dataclass(frozen=True, slots=True)
class Grown:
    """The results for one shape of links."""

    shape: str
    at_few: Window
    growing: Window
    at_many: Window
    peak_bytes: int
    found: int
    queued: int
    """At the kill."""
    start_s: float
    """Seconds until the first request, in an empty home."""
    resume_s: float
    start_beside_s: float
    """The same for another job, in the home that knows the many URLs."""


@dataclass(frozen=True, slots=True)
class Growth:
    stages: Stages
    grown: list[Grown]

    @property
    def shapes(self) -> list[str]:
        return list(dict.fromkeys(grown.shape for grown in self.grown))


def grow(stages: Stages, shape: str, scratch: Path) -> Grown:
    with serving(lambda number: stages.links(number, SHAPES[shape])) as site:
        home = scratch / "home"
        crawl = [*SHOAL_PROGRAM, *shoal_crawl(home, "--no-archive", site.front_page)]
        with running(crawl, scratch) as process:
            start_s = _first_request_s(site, process)
            at_few = _window(site, process, stages.at_few + stages.settling, stages.growing)
            growing = _window(site, process, stages.growing, stages.at_many)
            at_many = _window(site, process, stages.at_many + stages.settling, stages.end)
            peak_bytes = process.peak_bytes()
        figures = _figures(home)
        if figures["found"] != stages.many:
            raise CannotMeasure(f"the crawl found {figures['found']:,} URLs instead of {stages.many:,}")
        with running([*SHOAL_PROGRAM, "resume", "last", "--quiet", "--home", str(home)], scratch) as process:
            resume_s = _first_request_s(site, process)
        site.wait_until_quiet()
        with running(crawl, scratch) as process:
            start_beside_s = _first_request_s(site, process)
    return Grown(
        shape,
        at_few,
        growing,
        at_many,
        peak_bytes,
        figures["found"],
        figures["queued"],
        start_s,
        resume_s,
        start_beside_s,
    )


def _first_request_s(site: GrowthSite, process: Process) -> float:
    return site.wait_until(site.served + 1, process.running, LIMIT_S) - process.started


def _window(site: GrowthSite, process: Process, first: int, last: int) -> Window:
    began = site.wait_until(first, process.running, LIMIT_S)
    served, cpu_s = site.served, process.cpu_s()
    ended = site.wait_until(last, process.running, LIMIT_S)
    return Window(site.served - served, process.cpu_s() - cpu_s, ended - began)


def _figures(home: Path) -> dict[str, int]:
    """The figures of the last job, from `shoal job`."""
    command = [*SHOAL_PROGRAM, "job", "last", "--json", "--home", str(home)]
    output = subprocess.run(command, env=environment({}), capture_output=True, text=True, check=True).stdout
    figures: dict[str, int] = json.loads(output)
    return figures
