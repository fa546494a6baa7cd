"""RESULTS.md: what was measured, on what, with which command, and what came out."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks.contenders import CONCURRENCY, SAMPLER, SHOAL, Contender
from benchmarks.measure import Run
from benchmarks.site import LINKS


@dataclass(frozen=True, slots=True)
class Results:
    command: str
    pages: int
    server: str
    load: float
    """Of the machine, before the first run."""
    runs: dict[str, list[Run]]
    """By contender's name, in rounds: the n-th runs of all were made one after the other."""
    rooms: dict[str, float]


def render(results: Results, contenders: Sequence[Contender]) -> str:
    parts = [
        _heading(results, contenders),
        "\n".join(_comparison(results, contenders)),
        "## Where our time goes",
        f"One further crawl, sampled ({SAMPLER}); milliseconds are the share of the CPU per page above.",
        "\n".join(_rooms(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _heading(results: Results, contenders: Sequence[Contender]) -> str:
    versions = ", ".join(f"{contender.name} {contender.version}" for contender in contenders)
    shown = SHOAL.command("http://127.0.0.1:PORT/", results.pages, Path("DIR"))
    rounds = len(results.runs[SHOAL.name])
    return f"""# Benchmark

Written by `{results.command}` on {datetime.now(UTC):%Y-%m-%d}.

- Machine: {_processor()}, {os.cpu_count()} cores, {platform.system()}, load {results.load:.1f} before the start
- Versions: Python {platform.python_version()}, {versions}; nginx {results.server}
- Site: {results.pages:,} pages of about 22 KB with {LINKS} links each, static, over HTTP on loopback
- Crawl: every page by following links, {CONCURRENCY} requests in flight, no robots.txt, no rate
- Runs: {rounds} of each crawler, taking turns
- Ours: `{shlex.join(["shoal", *shown[1:]])}`
- Theirs: [scrapy_peer.py](scrapy_peer.py), [crawlee_peer.py](crawlee_peer.py)

CPU is user and system time of the crawler's processes from start to end, start-up included and nginx not. Figures are
medians, in brackets the least and the most; a ratio is taken within a round. Shoal keeps its frontier and the pages'
text and links in SQLite on disk; the peers keep everything in memory."""


def _comparison(results: Results, contenders: Sequence[Contender]) -> Iterator[str]:
    yield "| crawler | CPU per page (ms) | pages per second | peak memory (MB) | CPU against Shoal |"
    yield "| --- | --- | --- | --- | --- |"
    ours = results.runs[SHOAL.name]
    for contender in contenders:
        runs = results.runs[contender.name]
        cells = [
            contender.name,
            _spread(runs, lambda run: run.cpu_ms_per_page, 2),
            _spread(runs, lambda run: run.pages_per_s, 0),
            _spread(runs, lambda run: run.peak_bytes / 1e6, 0),
            _ratio(ours, runs) if contender is not SHOAL else "1",
        ]
        yield f"| {' | '.join(cells)} |"


def _spread(runs: list[Run], figure: Callable[[Run], float], digits: int) -> str:
    return _figures([figure(run) for run in runs], digits)


def _ratio(ours: list[Run], theirs: list[Run]) -> str:
    return _figures([b.cpu_ms_per_page / a.cpu_ms_per_page for a, b in zip(ours, theirs, strict=True)], 1, " x")


def _figures(values: list[float], digits: int, unit: str = "") -> str:
    return f"{median(values):,.{digits}f}{unit} ({min(values):,.{digits}f} – {max(values):,.{digits}f})"


def _rooms(results: Results) -> Iterator[str]:
    per_page_ms = median(run.cpu_ms_per_page for run in results.runs[SHOAL.name])
    yield "| room | share | ms per page |"
    yield "| --- | --- | --- |"
    for room, share in results.rooms.items():
        yield f"| {room} | {share:.0%} | {share * per_page_ms:.3f} |"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
