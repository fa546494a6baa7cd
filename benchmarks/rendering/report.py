"""The section of RESULTS.md on rendering."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.rendering.contenders import CONTENDERS, OURS
from benchmarks.rendering.measured import Rendered
from benchmarks.rendering.shell_site import PRODUCTS, SCRIPT_BYTES
from benchmarks.spread import spread


def rendered_lines(figures: Rendered) -> Iterator[str]:
    versions = ", ".join(f"{name} {version}" for name, version in figures.versions.items())
    yield f"- Versions: {versions}; nginx {figures.server}"
    yield f"- Site: {figures.pages:,} shells; a script of {SCRIPT_BYTES // 1000} KB makes {PRODUCTS} products from JSON"
    yield f"- Runs: {len(figures.runs[OURS])} of each, with the same browser and four open pages"
    yield "- Ours: `shoal crawl --render always --wait-for '#done' --no-archive`: a context, a tab and a proxy per page"
    yield "- Figures: CPU of all processes, the browser's included, with its start"
    yield ""
    yield (
        "Crawlee and scrapy-playwright open all pages in one context, as they come. The peers run the browser without "
        "its sandbox, as Playwright has it by default."
    )
    yield from (
        "",
        "| | CPU per page (ms) | pages per second | ours against it | goal |",
        "| --- | --- | --- | --- | --- |",
    )
    for contender in CONTENDERS:
        runs, ours = figures.runs[contender.name], figures.runs[OURS]
        times = [a.cpu_ms_per_page / b.cpu_ms_per_page for a, b in zip(ours, runs, strict=True)]
        cells = [
            contender.name,
            spread([run.cpu_ms_per_page for run in runs], 0),
            spread([run.pages_per_s for run in runs], 1),
            spread(times, 2, " x") if contender.goal else "1",
            f"{contender.goal:.2f} x" if contender.goal else "–",
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from _auto_lines(figures)
    yield from _beside_lines(figures)


def _auto_lines(figures: Rendered) -> Iterator[str]:
    times = [a.cpu_ms_per_page / b.cpu_ms_per_page for a, b in zip(figures.auto, figures.plain, strict=True)]
    yield (
        f"`--render auto` on {figures.static_pages:,} pages without scripts: "
        f"{spread([run.cpu_ms_per_page for run in figures.auto], 2)} ms of CPU a page, "
        f"{spread([run.cpu_ms_per_page for run in figures.plain], 2)} without, {spread(times, 3, ' x')}; goal: 1.03 x."
    )
    yield ""


def _beside_lines(figures: Rendered) -> Iterator[str]:
    busy = figures.beside
    alone_per_s, beside_per_s = ([run.pages_per_s for run in runs] for runs in (busy.alone, busy.beside))
    alone_ms, beside_ms = (median(run.cpu_ms_per_page for run in runs) for runs in (busy.alone, busy.beside))
    falls = 1 - median(beside_per_s) / median(alone_per_s)
    yield (
        f"A fleet's plain worker on a core of its own fetched {spread(alone_per_s, 0)} pages per second of a site "
        f"of {busy.pages:,}, and {spread(beside_per_s, 0)} while a browser on another core rendered "
        f"{busy.rendered_per_s:.1f} pages per second: {1 - falls:.2f} x; goal: more than 0.90 x. "
        f"A page took it {alone_ms:.2f} ms of CPU alone and {beside_ms:.2f} ms beside."
    )
