"""The sections of RESULTS.md on the fleet."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.contenders import CONCURRENCY
from benchmarks.fleet import connections as slices
from benchmarks.fleet import lanes as waiting
from benchmarks.fleet import scaling as far
from benchmarks.fleet.bulk import HOSTS, Bulk
from benchmarks.fleet.connections import Connections
from benchmarks.fleet.lanes import Behind, Lanes
from benchmarks.fleet.scaling import Scaling
from benchmarks.fleet.soaking import FleetSoak
from benchmarks.fleet.versus import OURS, FleetRun, Versus
from benchmarks.growth_report import look_rows
from benchmarks.links_site import LINKS
from benchmarks.soak import CHILDREN, Look
from benchmarks.spread import spread


def versus_lines(figures: Versus) -> Iterator[str]:
    versions = "; ".join(f"{name} ({version})" for name, version in figures.versions.items())
    yield f"- Versions: {versions}"
    has_fewer = any(runs[0].pages < figures.pages for runs in figures.runs.values())
    fewer = ", fewer for whom they would take too long" if has_fewer else ""
    yield f"- Site: {figures.pages:,} pages {figures.holds}{fewer}"
    yield f"- Runs: {len(figures.runs[OURS])} of each, every one with a Redis of its own (append-only file)"
    ours = f"`shoal worker --processes 1 --concurrency {CONCURRENCY}`, `shoal tend`, `shoal submit --no-text`"
    yield f"- Ours: {ours}; SQLite"
    yield "- Figures: CPU of the workers from the first URL to the last page; all had started and waited for it"
    yield ""
    yield "Shoal stores the record of every page; scrapy-redis drops what it finds."
    if len(figures.versions) > 1:
        yield (
            "Tasks keep each page's title. A task per URL is what tutorials write: `httpx.get` and Beautiful Soup; "
            "tuned, it keeps its connections and reads pages with lexbor."
        )
    yield from (
        "",
        "| crawler | pages | CPU per page (ms) | Redis (ms) | tend (ms) | pages per second | CPU against Shoal |",
    )
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, runs in figures.runs.items():
        cells = [
            name,
            f"{runs[0].pages:,}",
            spread([run.cpu_ms_per_page for run in runs], 2),
            spread([run.redis_ms_per_page for run in runs], 2),
            spread([run.tend_ms_per_page for run in runs], 2) if name == OURS else "–",
            spread([run.pages_per_s for run in runs], 0),
            _times(figures.runs[OURS], runs) if name != OURS else "1",
        ]
        yield f"| {' | '.join(cells)} |"


def _times(ours: list[FleetRun], theirs: list[FleetRun]) -> str:
    return spread([b.cpu_ms_per_page / a.cpu_ms_per_page for a, b in zip(ours, theirs, strict=True)], 1, " x")


def lanes_lines(figures: Lanes) -> Iterator[str]:
    yield (
        f"- Flood: a batch job of {figures.flood:,} URLs on {len(waiting.FLOODED)} hosts that answer after "
        f"{waiting.FLOODED_LATENCY_S} s, so that every place of a worker is taken"
    )
    yield (
        f"- Urgent: an express job of {waiting.URGENT} URLs, each on an idle host that answers after "
        f"{waiting.IDLE_LATENCY_S} s"
    )
    yield f"- The worker kept for urgent jobs used {figures.kept_load:.1%} of a core under the flood, without any"
    yield from ("", "| workers | urgent jobs, seconds to | empty fleet | behind the flood | times |")
    yield "| --- | --- | --- | --- | --- |"
    yield from _behind_rows("one for both lanes", figures.shared)
    yield from _behind_rows("one for each lane", figures.kept)
    alone_s, beside_s = figures.slow.alone_s, figures.slow.beside_s
    yield ""
    yield (
        f"A job of {waiting.OTHERS:,} URLs took {spread(alone_s, 1)} s alone, and {spread(beside_s, 1)} s beside one "
        f"of {figures.flood:,} on a host that answers after {waiting.SLOW_LATENCY_S:.0f} s: "
        f"{median(beside_s) / median(alone_s):.2f} x."
    )


def _behind_rows(workers: str, figures: Behind) -> Iterator[str]:
    for name, empty, behind in (
        ("last page", [job.fetched_s for job in figures.empty], [job.fetched_s for job in figures.behind]),
        ("end", [job.done_s for job in figures.empty], [job.done_s for job in figures.behind]),
    ):
        times = f"{median(behind) / median(empty):.2f} x"
        yield f"| {workers} | {name} | {spread(empty, 2)} | {spread(behind, 2)} | {times} |"


def scaling_lines(figures: Scaling) -> Iterator[str]:
    yield (
        f"- Site: {figures.pages:,} pages on {len(far.HOSTS)} hosts that answer after {far.LATENCY_S} s, "
        f"at most {far.PER_HOST} in flight to each; {CONCURRENCY} in flight in each process"
    )
    yield from ("", "| worker processes | pages per second | against one |", "| --- | --- | --- |")
    yield f"| 1 | {spread(figures.one, 0)} | 1 |"
    times = [two / one for one, two in zip(figures.one, figures.two, strict=True)]
    yield f"| 2 | {spread(figures.two, 0)} | {spread(times, 2, ' x')} |"


def bulk_lines(figures: Bulk) -> Iterator[str]:
    yield f"- `shoal submit @FILE`: {figures.urls:,} URLs on {HOSTS:,} hosts, nobody works on them"
    took = figures.submitting
    yield (
        f"- Submitting process: {took.peak_bytes / 1e6:.0f} MB at its peak, {took.seconds:.0f} s, "
        f"{took.cpu_s:.0f} s of CPU"
    )
    yield (
        f"- Tend: {figures.tend_peak_bytes / 1e6:.0f} MB at its peak, all URLs in the frontier after "
        f"{figures.seeding_s:.0f} s"
    )
    yield f"- Redis: {figures.redis_bytes:.0f} B per URL, queued and seen"


def connections_lines(figures: Connections) -> Iterator[str]:
    yield f"- Fleet: a worker of {slices.PROCESSES} processes and tend, slices of {slices.SLICE_S} s; the broker apart"
    yield f"- At most {figures.most_per_process:.1f} connections per process"
    yield from ("", "| slices | processes | connections to the frontier | to the broker |", "| --- | --- | --- | --- |")
    for look in figures.looks:
        yield f"| {look.slices:,} | {look.processes} | {look.to_frontier} | {look.to_broker} |"


def fleet_soak_lines(figures: FleetSoak) -> Iterator[str]:
    early, end = figures.early, figures.looks[-1]
    more = end.memory_bytes / early.memory_bytes - 1
    yield f"- Site: one host, {LINKS} links on each page, {CHILDREN} of them new"
    yield f"- Crawl: {figures.pages:,} pages by one worker process in {end.wall_s:.0f} s"
    yield f"- Fetched twice: {figures.fetched_twice} pages"
    yield (
        f"- Memory of the worker: {end.memory_bytes / 1e6:.0f} MB at the end, {more:+.0%} against "
        f"{early.memory_bytes / 1e6:.0f} MB at {early.pages:,} pages; of Redis: {figures.redis_bytes / 1e6:.0f} MB"
    )
    yield ""
    yield from look_rows(Look(0, 0.0, 0.0, 0), figures.looks)
