"""What the figures of rendering rest on: pages that need a script, all processes counted, and figures as measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from benchmarks.measure import Run, Window, measure
from benchmarks.rendering import shell_site
from benchmarks.rendering.beside import Beside
from benchmarks.rendering.contenders import CONTENDERS
from benchmarks.rendering.measured import Rendered
from benchmarks.report import render
from benchmarks.results import Circumstances, Result, keep, kept

PAGES = 21
BUSY_S = 0.3
ORPHANS = f"""
import json, os, time
if os.fork() == 0:
    if os.fork() == 0:
        while time.process_time() < {BUSY_S}: pass
    os._exit(0)
os.wait()
print(json.dumps({{"type": "summary", "pages": 1}}))
"""


def test_only_scripts_reach_every_page(tmp_path: Path) -> None:
    shell_site.build(tmp_path, PAGES)
    pages = {path.name for path in tmp_path.glob("*.html")}
    assert len(pages) == PAGES
    reached, waiting = {"index.html"}, ["index.html"]
    while waiting:
        page = LexborHTMLParser((tmp_path / waiting.pop()).read_bytes())
        assert not page.css("a") and not page.css("#done")
        (app,) = page.css("#app")
        data = json.loads((tmp_path / (app.attrs["data-of"] or "").lstrip("/")).read_text())
        assert len(data["products"]) == shell_site.PRODUCTS
        waiting += [link.removeprefix("/") for link in data["links"]]
        reached |= set(waiting)
    assert reached == pages


def test_processes_that_outlive_their_parents_are_counted(tmp_path: Path) -> None:
    wrapper = CONTENDERS[0].command("", "http://127.0.0.1:1/", 1, tmp_path)[:3]
    run = measure([*wrapper, sys.executable, "-c", ORPHANS], {"pages": 1}, tmp_path, {})
    assert run.cpu_s >= BUSY_S


def _run(ms_per_page: float) -> Run:
    return Run(100, ms_per_page / 10, 20.0, 1)


def test_figures_are_told_and_the_same_when_they_were_kept(tmp_path: Path) -> None:
    runs = {contender.name: [_run(200.0 if place else 150.0)] for place, contender in enumerate(CONTENDERS)}
    versions = {contender.name: contender.version for contender in CONTENDERS}
    busy = Beside(10_000, [Window(10_000, 20.0, 25.0)], [Window(10_000, 21.0, 26.0)], 3.25)
    figures = Rendered(100, "1.22", versions, runs, 5_000, [_run(2.0)], [_run(2.04)], busy)
    result = Result(Circumstances("python -m benchmarks", "2026-01-02", "a machine", 0.5, "3.11"), figures)
    keep(tmp_path, "render", result)
    assert kept(tmp_path, ["render"]) == {"render": result}
    text = render({"render": result})
    for line in (
        "## Rendering\n",
        "| Playwright, a context per page | 200 (200 – 200) | 5.0 (5.0 – 5.0) | 0.75 x (0.75 – 0.75) | 0.75 x |",
        "2.04 (2.04 – 2.04) ms of CPU a page, 2.00 (2.00 – 2.00) without, 1.020 x (1.020 – 1.020); goal: 1.03 x.",
        "rendered 3.2 pages per second: 0.96 x; goal: more than 0.90 x.",
        "A page took it 2.00 ms of CPU alone and 2.10 ms beside.",
    ):
        assert line in text
