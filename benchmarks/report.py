"""RESULTS.md: what was measured, on what, with which command, and what came out."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks.contenders import CONCURRENCY, HERE, SAMPLER, SHOAL, Contender
from benchmarks.measure import Run
from benchmarks.parts import Part


@dataclass(frozen=True, slots=True)
class Circumstances:
    command: str
    load: float
    """Of the machine, before the first run."""
    server: str


@dataclass(frozen=True, slots=True)
class Results:
    """Of one part."""

    part: Part
    pages: int
    contenders: Sequence[Contender]
    runs: dict[str, list[Run]]
    """By contender's name, in rounds: the n-th runs of all were made one after the other."""
    rooms: dict[str, float]


def render(circumstances: Circumstances, parts: Sequence[Results]) -> str:
    return "\n\n".join([_heading(circumstances, parts), *map(_part, parts)]) + "\n"


def _heading(circumstances: Circumstances, parts: Sequence[Results]) -> str:
    known = {contender.name: contender.version for results in parts for contender in results.contenders}
    versions = ", ".join(f"{name} {version}" for name, version in known.items())
    return f"""# Benchmark

Written by `{circumstances.command}` on {datetime.now(UTC):%Y-%m-%d}.

- Machine: {_processor()}, {os.cpu_count()} cores, {platform.system()}, load {circumstances.load:.1f} before the start
- Versions: Python {platform.python_version()}, {versions}; nginx {circumstances.server}
- Sites: pages of about 22 KB, static, over HTTP on loopback
- Crawls: {CONCURRENCY} requests in flight, no robots.txt, no rate; the crawlers take turns
- Theirs: [scrapy_peer.py](scrapy_peer.py), [crawlee_peer.py](crawlee_peer.py)

CPU is user and system time of the crawler's processes from start to end, start-up included and nginx not. Figures are
medians, in brackets the least and the most; a ratio is taken within a round. Where our time goes is from one further
crawl, sampled ({SAMPLER}); milliseconds are the share of the CPU per page above."""


def _part(results: Results) -> str:
    part = results.part
    command = SHOAL.commands[part.name]("http://127.0.0.1:PORT/", results.pages, Path("DIR"))
    ours = ["shoal", *(word.removeprefix(f"{HERE.parent}/") for word in command[1:])]
    rounds = len(results.runs[SHOAL.name])
    return f"""## {part.name.capitalize()}

- Site: {results.pages:,} pages with {part.holds} each
- Crawl: {part.task}
- Runs: {rounds} of each crawler
- Ours: `{shlex.join(ours)}`

{part.keeps}

{_lines(_comparison(results))}

### Where our time goes: {part.name}

{_lines(_rooms(results))}"""


def _lines(rows: Iterable[str]) -> str:
    return "\n".join(rows)


def _comparison(results: Results) -> Iterator[str]:
    yield "| crawler | CPU per page (ms) | pages per second | peak memory (MB) | CPU against Shoal |"
    yield "| --- | --- | --- | --- | --- |"
    ours = results.runs[SHOAL.name]
    for name, runs in results.runs.items():
        cells = [
            name,
            _spread(runs, lambda run: run.cpu_ms_per_page, 2),
            _spread(runs, lambda run: run.pages_per_s, 0),
            _spread(runs, lambda run: run.peak_bytes / 1e6, 0),
            _ratio(ours, runs) if runs is not ours else "1",
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
