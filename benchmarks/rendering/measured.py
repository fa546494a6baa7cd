"""The render part: what a page costs in Shoal's browser and in others, `auto` on a site without scripts, and what plain
fetches lose beside a busy browser."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import chain

from benchmarks import links_site
from benchmarks.contenders import SHOAL_PROGRAM, WORK, fresh, install, shoal_crawl
from benchmarks.measure import Run, measure
from benchmarks.rendering import shell_site
from benchmarks.rendering.beside import Beside, beside
from benchmarks.rendering.contenders import CONTENDERS, SETTING, Contender, browser
from benchmarks.servers import Place, free_port, nginx, version
from benchmarks.site import address

PAGES = 300
"""Rendered by each contender in each round."""
STATIC_PAGES = 5_000
BESIDE_PAGES = 10_000


@dataclass(frozen=True, slots=True)
class Sizes:
    rendered: int = PAGES
    static: int = STATIC_PAGES
    beside: int = BESIDE_PAGES


WHOLE = Sizes()
QUICK = Sizes(20, 300, 1_000)


@dataclass(frozen=True, slots=True)
class Rendered:
    pages: int
    server: str
    versions: dict[str, str]
    """By contender's name, like `runs`."""
    runs: dict[str, list[Run]]
    """In rounds: the n-th runs of all contenders were made one after the other."""
    static_pages: int
    plain: list[Run]
    """Of a site without scripts, in rounds with `auto`."""
    auto: list[Run]
    beside: Beside


def rendered(sizes: Sizes, rounds: int) -> Rendered:
    install(chain.from_iterable(contender.requires for contender in CONTENDERS))
    runs = _beside_peers(sizes.rendered, rounds)
    plain, auto = _on_static_site(sizes.static, rounds)
    versions = {contender.name: contender.version for contender in CONTENDERS}
    busy = beside(sizes.beside, rounds)
    return Rendered(sizes.rendered, version(), versions, runs, sizes.static, plain, auto, busy)


def _beside_peers(pages: int, rounds: int) -> dict[str, list[Run]]:
    place, site, program = Place(("127.0.0.1",), free_port(), tls=False), WORK / "render", browser()
    shell_site.build(site, pages)
    runs: dict[str, list[Run]] = {contender.name: [] for contender in CONTENDERS}
    with fresh() as scratch, nginx(place, site, scratch):
        for _ in range(rounds):
            for contender in CONTENDERS:
                runs[contender.name].append(_run(contender, program, place.url(0), pages))
    return runs


def _run(contender: Contender, program: str, url: str, pages: int) -> Run:
    with fresh() as empty:
        command = contender.command(program, url, pages, empty)
        run = measure(command, {"pages": pages}, empty, {SETTING: program})
    return _shown(contender.name, run)


def _on_static_site(pages: int, rounds: int) -> tuple[list[Run], list[Run]]:
    place, site = Place(("127.0.0.1",), free_port(), tls=False), WORK / "render-static"
    links_site.build(site, pages, address)
    plain: list[Run] = []
    auto: list[Run] = []
    with fresh() as scratch, nginx(place, site, scratch):
        for number in range(rounds):
            # Each goes first as often: what comes first finds files that are not compiled, and a cold machine.
            for runs, mode in ((plain, "never"), (auto, "auto"))[:: 1 if number % 2 == 0 else -1]:
                runs.append(_shown(f"--render {mode}", _crawl(place.url(0), pages, mode)))
    return plain, auto


def _crawl(url: str, pages: int, mode: str) -> Run:
    with fresh() as empty:
        words = shoal_crawl(empty / "home", url, "--max-pages", str(pages), "--no-archive", "--render", mode)
        return measure([*SHOAL_PROGRAM, *words], {"pages": pages}, empty, {})


def _shown(name: str, run: Run) -> Run:
    print(f"render: {name} {run.cpu_ms_per_page:.2f} ms per page", file=sys.stderr)
    return run
