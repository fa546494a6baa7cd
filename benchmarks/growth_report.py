"""The sections of RESULTS.md on growth and soak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.growth import Growth
from benchmarks.links_site import LINKS
from benchmarks.measure import Window
from benchmarks.soak import CHILDREN, Look, Soak
from benchmarks.spread import spread


def growth_lines(growth: Growth) -> Iterator[str]:
    few, many = growth.stages.few, growth.stages.many
    yield f"- Site: one host, {LINKS} links on each page, which is made when it is asked for"
    yield f"- Crawl: until {many:,} URLs are known; then it is killed (-9), resumed, and another job started beside it"
    yield f"- Figures: over {growth.stages.window:,} pages whose links are all known, and over those that bring others"
    by_shape = {shape: [grown for grown in growth.grown if grown.shape == shape] for shape in growth.shapes}
    yield f"- Runs: {len(growth.grown) // len(by_shape)} of each kind of links, in turn"
    yield from ("", "| links | known URLs | CPU per page (ms) | pages per second | page rate against the first |")
    yield "| --- | --- | --- | --- | --- |"
    for shape, runs in by_shape.items():
        first = [grown.at_few for grown in runs]
        yield _window_row(shape, f"{few:,}", first, first)
        yield _window_row(shape, f"growing, {LINKS} new a page", [grown.growing for grown in runs], first)
        yield _window_row(shape, f"{many:,}", [grown.at_many for grown in runs], first)
    yield from ("", "| links | queued | peak memory (MB) | start (s) | resume (s) | start beside it (s) |")
    yield "| --- | --- | --- | --- | --- | --- |"
    for shape, runs in by_shape.items():
        queued, peak = max(grown.queued for grown in runs), max(grown.peak_bytes for grown in runs)
        starts = [grown.start_s for grown in runs], [grown.resume_s for grown in runs]
        seconds = " | ".join(spread(each, 2) for each in (*starts, [grown.start_beside_s for grown in runs]))
        yield f"| {shape} | {queued:,} | {peak / 1e6:.0f} | {seconds} |"
    yield from ("", "Start and resume are the time from the command to the first request that the site sees.")


def _window_row(shape: str, known: str, windows: Sequence[Window], first: Sequence[Window]) -> str:
    cpu_ms, rates = [each.cpu_ms_per_page for each in windows], [each.pages_per_s for each in windows]
    against = [100 * rate / window.pages_per_s for rate, window in zip(rates, first, strict=True)]
    return f"| {shape} | {known} | {spread(cpu_ms, 2)} | {spread(rates, 0)} | {spread(against, 0, '%')} |"


def soak_lines(soak: Soak) -> Iterator[str]:
    early, end = soak.early, soak.looks[-1]
    yield f"- Site: one host, {LINKS} links on each page, {CHILDREN} of them new"
    yield f"- Crawl: {soak.pages:,} pages, killed (-9) after {soak.killed_at:,} and resumed for {end.wall_s:.0f} s"
    yield f"- Fetched twice: {soak.fetched_twice} pages that were in flight, or not yet stored, at the kill"
    more = end.memory_bytes / early.memory_bytes - 1
    yield f"- Memory: {_mb(end)} MB at the end, {more:+.0%} against {_mb(early)} MB at {early.pages:,} pages"
    yield ""
    yield from look_rows(Look(soak.killed_at, 0.0, 0.0, 0), soak.looks)


def look_rows(before: Look, looks: Iterable[Look]) -> Iterator[str]:
    yield "| pages | memory (MB) | CPU per page since (ms) | pages per second since |"
    yield "| --- | --- | --- | --- |"
    for look in looks:
        pages = max(1, look.pages - before.pages)
        cpu_ms, per_s = 1000 * (look.cpu_s - before.cpu_s) / pages, pages / (look.wall_s - before.wall_s)
        yield f"| {look.pages:,} | {_mb(look)} | {cpu_ms:.2f} | {per_s:,.0f} |"
        before = look


def _mb(look: Look) -> str:
    return f"{look.memory_bytes / 1e6:.0f}"
