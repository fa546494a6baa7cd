"""Writes RESULTS.md: the measurements, with the machine, the command and the results."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median

from benchmarks.api.measured import Api
from benchmarks.api.report import api_lines
from benchmarks.comparison import Comparison
from benchmarks.contenders import (
    CONCURRENCY,
    DEFAULT_RATE,
    HERE,
    PEERS,
    RECORDS_ONLY,
    SAMPLER,
    SHOAL,
    TRICKLE_RATE,
)
from benchmarks.data_out import DataOut
from benchmarks.extracting import Extracted
from benchmarks.fleet.bulk import Bulk
from benchmarks.fleet.connections import Connections
from benchmarks.fleet.lanes import Lanes
from benchmarks.fleet.report import (
    bulk_lines,
    connections_lines,
    fleet_soak_lines,
    lanes_lines,
    scaling_lines,
    versus_lines,
)
from benchmarks.fleet.scaling import Scaling
from benchmarks.fleet.soaking import FleetSoak
from benchmarks.fleet.versus import Versus
from benchmarks.growth import Growth
from benchmarks.growth_report import growth_lines, soak_lines
from benchmarks.measure import Run
from benchmarks.parts import PACED_HOSTS, PARTS, TLS_HOSTS
from benchmarks.proxied import LEARNING, Proxied
from benchmarks.rendering.measured import Rendered
from benchmarks.rendering.report import rendered_lines
from benchmarks.results import Circumstances, Figures, Result
from benchmarks.soak import Soak
from benchmarks.spread import spread

_HEADING = f"""# Benchmark

Written by `make bench` and `make soak`; each part says when and how it was measured last. Sites are served from
loopback, and have pages of about 22 KB where a part does not name others. Crawls have {CONCURRENCY} requests in flight,
no robots.txt and, unless a part has one, no rate.

CPU is user and system time of the crawler's processes, start-up included and the server's not; that of a fleet's
workers, which live long, without their start-up. In comparisons
([scrapy_peer.py](scrapy_peer.py), [crawlee_peer.py](crawlee_peer.py), [loop_peer.py](loop_peer.py), of fleets
[scrapy_redis_peer.py](fleet/scrapy_redis_peer.py), [celery_peer.py](fleet/celery_peer.py)) the crawlers take turns;
figures are medians, in brackets the least and the most; a ratio is taken within a round. Where our time goes is from
one further crawl, sampled ({SAMPLER}); milliseconds are the share of the CPU per page above."""


_TITLES = {
    "tls": f"TLS, {TLS_HOSTS} hosts",
    "fleet-pages": "Fleet: PostgreSQL's manual",
    "fleet-lanes": "Fleet: lanes",
    "fleet-scaling": "Fleet: two processes against one",
    "fleet-bulk": "Fleet: a million URLs submitted",
    "fleet-connections": "Fleet: connections",
    "fleet-soak": "Fleet: soak",
    "api": "API",
    "data": "Data out",
    "proxies": "Pools of proxies",
    "render": "Rendering",
    "small-pages": "Small pages: PostgreSQL's manual",
    "large-pages": "Large pages: Python's manual",
    "octave-manual": "Small pages: Octave's manual",
    "sqlalchemy-manual": "Large pages: SQLAlchemy's manual",
    "trickle": f"One host, {TRICKLE_RATE:g} requests a second",
    "hosts": f"{PACED_HOSTS} hosts, {DEFAULT_RATE:g} requests a second each",
}


def render(results: Mapping[str, Result]) -> str:
    compared = {name: result.figures for name, result in results.items() if isinstance(result.figures, Comparison)}
    overall = ["\n".join(_range_lines(compared))] if len(compared) > 1 else []
    return "\n\n".join([_HEADING, *overall, *(_section(name, result) for name, result in results.items())]) + "\n"


def _section(name: str, result: Result) -> str:
    return "\n".join([f"## {_title(name)}", "", _measured(result.circumstances), *_lines(result.figures)])


def _title(name: str) -> str:
    return _TITLES.get(name, name.capitalize())


def _range_lines(compared: Mapping[str, Comparison]) -> Iterator[str]:
    """Scrapy against Shoal in every part: the least first."""
    yield "## Scrapy against Shoal, over all parts"
    yield from ("", "| part | Scrapy | its CPU per page against Shoal |", "| --- | --- | --- |")
    rows = [(_title(name), *_scrapy_of(figures)) for name, figures in compared.items() if _keeper_of(figures)]
    for title, name, ratios in sorted(rows, key=lambda row: median(row[2])):
        yield f"| {title} | {name} | {spread(ratios, 1, ' x')} |"


def _scrapy_of(figures: Comparison) -> tuple[str, list[float]]:
    name = _keeper_of(figures)
    return name, _ratios(figures.runs[SHOAL.name], figures.runs[name])


def _keeper_of(figures: Comparison) -> str:
    """The Scrapy that keeps the most of what Shoal keeps; empty: none took part."""
    return next((PEERS[peer].name for peer in ("scrapy-keeping", "scrapy") if PEERS[peer].name in figures.runs), "")


def _lines(figures: Figures) -> Iterator[str]:
    match figures:
        case Comparison():
            return _comparison_lines(figures)
        case Extracted():
            return _extract_lines(figures)
        case Growth():
            return growth_lines(figures)
        case Soak():
            return soak_lines(figures)
        case Versus():
            return versus_lines(figures)
        case Lanes():
            return lanes_lines(figures)
        case Scaling():
            return scaling_lines(figures)
        case Bulk():
            return bulk_lines(figures)
        case Connections():
            return connections_lines(figures)
        case FleetSoak():
            return fleet_soak_lines(figures)
        case Api():
            return api_lines(figures)
        case DataOut():
            return _data_lines(figures)
        case Proxied():
            return _proxied_lines(figures)
        case Rendered():
            return rendered_lines(figures)


def _measured(by: Circumstances) -> str:
    machine = f"{by.machine}, load {by.load:.1f} before the start, Python {by.python}"
    return f"- Measured: {by.date} by `{by.command}` on {machine}"


def _extract_lines(figures: Extracted) -> Iterator[str]:
    yield f"- Site: {figures.pages:,} pages {PARTS['items'].holds}, crawled before with the archive on"
    yield "- Ours: `shoal extract last --processes 1` with [rules](extract_rules.yaml) or [a spider](items_spider.py)"
    yield from ("", "| items | CPU per page (ms) | pages per second and core | peak memory (MB) |")
    yield "| --- | --- | --- | --- |"
    for name, runs in (("3 fields of a page", figures.of_three), ("20 records of 10 fields", figures.of_records)):
        cells = [
            name,
            _spread(runs, lambda run: run.cpu_ms_per_page, 2),
            _spread(runs, lambda run: 1000 / run.cpu_ms_per_page, 0),
            _spread(runs, lambda run: run.peak_bytes / 1e6, 0),
        ]
        yield f"| {' | '.join(cells)} |"


def _proxied_lines(figures: Proxied) -> Iterator[str]:
    yield f"- Site: {figures.pages:,} pages {PARTS['links'].holds}, through one proxy and through {figures.proxies:,}"
    yield "- Ours: the choice alone; `shoal crawl --proxies FILE`, where the server of the site is the proxy too"
    yield from ("", "| | figure | goal |", "| --- | --- | --- |")
    yield f"| a choice among {figures.proxies:,} proxies, median (us) | {spread(figures.choice_us, 1)} | 20 |"
    failed = spread([100 * share for share in figures.failed_share], 2, " %")
    yield f"| failed requests after {LEARNING}, if 30 % of the proxies are bad | {failed} | 2 % |"
    yield f"| CPU of a page through {figures.proxies:,} against one | {spread(figures.cpu_ratios, 2, ' x')} | 1.15 x |"


def _data_lines(figures: DataOut) -> Iterator[str]:
    yield f"- Site: {figures.pages:,} pages {PARTS['items'].holds}"
    yield "- Ours: the items crawl, with and without `--sink postgresql://…`, and with the archive on disk and in a"
    yield "  bucket (moto, over loopback); then `shoal export last -o DIR/` of a job with so many items"
    yield from ("", "| | figure | goal |", "| --- | --- | --- |")
    sink, bucket = spread(figures.sink_us_per_item, 1), spread(figures.bucket_ms_per_page, 2)
    yield f"| CPU of a PostgreSQL sink per item (us) | {sink} | 15 |"
    yield f"| CPU of an archive in a bucket per page, more than on disk (ms) | {bucket} | 0.1 |"
    memory = spread([export.peak_bytes / 1e6 for export in figures.dataset], 0)
    yield f"| peak memory of a dataset of {figures.dataset_items:,} items (MB) | {memory} | 300 |"
    cpu = spread([export.cpu_s * 1e6 / figures.dataset_items for export in figures.dataset], 1)
    yield f"| CPU of the dataset per item (us) | {cpu} | – |"


def _comparison_lines(figures: Comparison) -> Iterator[str]:
    part = PARTS[figures.part]
    url = f"{'https' if part.tls else 'http'}://{part.hosts[0]}:PORT/"
    program, *words = SHOAL.commands[part.name](url, figures.pages, Path("DIR"))
    ours = shlex.join([Path(program).name, *(word.removeprefix(f"{HERE.parent}/") for word in words)])
    versions = ", ".join(f"{name} {version}" for name, version in figures.versions.items())
    yield f"- Versions: {versions}; nginx {figures.server}"
    yield f"- Site: {figures.pages:,} pages {part.holds}"
    yield f"- Crawl: {part.task}"
    yield f"- Runs: {len(figures.runs[SHOAL.name])} of each crawler"
    yield f"- Ours: `{ours}`"
    yield from ("", part.keeps, "")
    yield from _contenders(figures.runs)
    yield from ("", f"### Where our time goes: {part.name}", "")
    yield from _rooms(figures)


def _contenders(by_name: Mapping[str, list[Run]]) -> Iterator[str]:
    ours = {name: runs for name, runs in by_name.items() if name in (SHOAL.name, RECORDS_ONLY.name)}
    against = "".join(f" CPU against {name} |" for name in ours)
    yield f"| crawler | CPU per page (ms) | pages per second | peak memory (MB) |{against}"
    yield f"| --- | --- | --- | --- |{' --- |' * len(ours)}"
    for name, runs in by_name.items():
        cells = [
            name,
            _spread(runs, lambda run: run.cpu_ms_per_page, 2),
            _spread(runs, lambda run: run.pages_per_s, 0),
            _spread(runs, lambda run: run.peak_bytes / 1e6, 0),
            *(_ratio(those, runs) if runs is not those else "1" for those in ours.values()),
        ]
        yield f"| {' | '.join(cells)} |"


def _spread(runs: list[Run], figure: Callable[[Run], float], digits: int) -> str:
    return spread([figure(run) for run in runs], digits)


def _ratio(ours: list[Run], theirs: list[Run]) -> str:
    return spread(_ratios(ours, theirs), 1, " x")


def _ratios(ours: list[Run], theirs: list[Run]) -> list[float]:
    return [b.cpu_ms_per_page / a.cpu_ms_per_page for a, b in zip(ours, theirs, strict=True)]


def _rooms(figures: Comparison) -> Iterable[str]:
    per_page_ms = median(run.cpu_ms_per_page for run in figures.runs[SHOAL.name])
    yield "| room | share | ms per page |"
    yield "| --- | --- | --- |"
    for room, share in figures.rooms.items():
        yield f"| {room} | {share:.0%} | {share * per_page_ms:.3f} |"
