"""The sections of RESULTS.md on growth and soak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.growth import Grown, Growth
from benchmarks.links_site import LINKS
from benchmarks.measure import Window
from benchmarks.soak import CHILDREN, Look, Soak


def growth_lines(growth: Growth) -> Iterator[str]:
    few, many = growth.stages.few, growth.stages.many
    yield f"- Site: one host, {LINKS} links on each page, which is made when it is asked for"
    yield f"- Crawl: until {many:,} URLs are known; then it is killed (-9), resumed, and another job started beside it"
    yield f"- Figures: over {growth.stages.window:,} pages whose links are all known, and over those that bring others"
    yield from ("", "| links | known URLs | CPU per page (ms) | pages per second | page rate, CPU against the first |")
    yield "| --- | --- | --- | --- | --- |"
    for grown in growth.grown:
        yield _window_row(grown, f"{few:,}", grown.at_few)
        yield _window_row(grown, f"growing, {LINKS} new a page", grown.growing)
        yield _window_row(grown, f"{many:,}", grown.at_many)
    yield from ("", "| links | queued | peak memory (MB) | start (s) | resume (s) | start beside it (s) |")
    yield "| --- | --- | --- | --- | --- | --- |"
    for grown in growth.grown:
        seconds = " | ".join(f"{each:.2f}" for each in (grown.start_s, grown.resume_s, grown.start_beside_s))
        yield f"| {grown.shape} | {grown.queued:,} | {grown.peak_bytes / 1e6:.0f} | {seconds} |"
    yield from ("", "Start and resume are the time from the command to the first request that the site sees.")


def _window_row(grown: Grown, known: str, window: Window) -> str:
    rate = window.pages_per_s / grown.at_few.pages_per_s
    cpu = window.cpu_ms_per_page / grown.at_few.cpu_ms_per_page
    figures = f"{window.cpu_ms_per_page:.2f} | {window.pages_per_s:,.0f} | {rate:.0%}, {cpu:.2f} x"
    return f"| {grown.shape} | {known} | {figures} |"


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
