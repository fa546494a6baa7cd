"""The section of RESULTS.md on the API."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.api.asking import CONNECTIONS, PER_S
from benchmarks.api.measured import Api
from benchmarks.api.served import HOSTS
from benchmarks.api.status import SITES, Status, crawl_ms
from benchmarks.api.streaming import Streaming
from benchmarks.api.submitting import Submitting
from benchmarks.contenders import CONCURRENCY
from benchmarks.fleet.versus import FleetRun
from benchmarks.links_site import LINKS
from benchmarks.spread import spread


def api_lines(figures: Api) -> Iterator[str]:
    yield (
        "- Pinned: `shoal api` (one process) and whoever calls it, by `shoal.client`, on one core; `shoal tend`, "
        "`shoal worker`, Redis (append-only file) and the site on the other; SQLite"
    )
    yield from ("", f"### {figures.submitting.urls:,} URLs in one POST", "")
    yield from _submitting_lines(figures.submitting)
    yield from ("", f"### Status, {PER_S} calls per second during a crawl", "")
    yield from _status_lines(figures.status)
    yield from ("", f"### {figures.streaming.lines:,} lines streamed", "")
    yield from _streaming_lines(figures.streaming)


def _submitting_lines(figures: Submitting) -> Iterator[str]:
    answered_s = [post.answered_s for post in figures.posted]
    times = [applied / answered for applied, answered in zip(figures.applied_s, answered_s, strict=True)]
    yield f"- URLs on {HOSTS:,} hosts, with an Idempotency-Key; answered when all are stored, each once"
    yield "- Against: `apply_async` of a Celery task for each, one after the other over a kept connection, same Redis"
    yield from ("", "| | seconds | against one POST |", "| --- | --- | --- |")
    yield f"| one POST | {spread(answered_s, 3)} | 1 |"
    yield f"| `apply_async` each | {spread(figures.applied_s, 2)} | {spread(times, 1, ' x')} |"
    seeded_s = [post.seeded_s for post in figures.posted]
    yield from ("", f"All could be leased {spread(seeded_s, 2)} s after the POST began.")


def _status_lines(figures: Status) -> Iterator[str]:
    yield (
        f"- Crawl: {figures.pages:,} pages with {LINKS} links each on {len(SITES)} hosts, "
        f"`shoal worker --processes 1 --concurrency {CONCURRENCY}`"
    )
    yield f"- Calls: `GET /jobs/ID` over {CONNECTIONS} connections, each due at its moment and timed from then"
    yield from ("", "| calls | p50 (ms) | p99 (ms) | slowest (ms) | CPU of the API per call (ms) |")
    yield "| --- | --- | --- | --- | --- |"
    columns = [(told.p50_ms, told.p99_ms, told.max_ms, told.api_ms) for told in figures.told]
    cells = [spread(column, 1) for column in zip(*columns, strict=True)]
    yield f"| {sum(told.calls for told in figures.told):,} | {' | '.join(cells)} |"
    yield from ("", "| CPU of the crawl per page (ms) | not asked | asked | times |", "| --- | --- | --- | --- |")
    for name, of in _PARTS:
        yield f"| {name} | {_row(figures, of)} |"


_PARTS: tuple[tuple[str, Callable[[FleetRun], float]], ...] = (
    ("worker", lambda run: run.cpu_ms_per_page),
    ("Redis", lambda run: run.redis_ms_per_page),
    ("tend", lambda run: run.tend_ms_per_page),
    ("all", crawl_ms),
)


def _row(figures: Status, of: Callable[[FleetRun], float]) -> str:
    alone, asked = [of(run) for run in figures.alone], [of(run) for run in figures.asked]
    times = [more / less for less, more in zip(alone, asked, strict=True)]
    return " | ".join((spread(alone, 3), spread(asked, 3), spread(times, 2, " x")))


def _streaming_lines(figures: Streaming) -> Iterator[str]:
    per_s = figures.lines / figures.answered_s
    more_mb = (figures.peak_bytes - figures.before_bytes) / 1e6
    yield f"- `POST /jobs/ID/urls`, plain lines, {HOSTS:,} hosts; all of them new, all in the job"
    yield (
        f"- Answered after {figures.answered_s:.0f} s, {per_s:,.0f} lines per second; "
        f"all could be leased after {figures.seeded_s:.0f} s"
    )
    yield f"- Memory of the API: {figures.before_bytes / 1e6:.0f} MB before, {more_mb:.0f} MB more at its peak"
