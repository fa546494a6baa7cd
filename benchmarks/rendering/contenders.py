"""Who loads the pages of the render part, and how: all with the same browser and four pages open at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import shoal
from benchmarks.contenders import HERE, PEERS_PYTHON, SHOAL_PROGRAM, shoal_crawl
from benchmarks.measure import CannotMeasure
from shoal.browser.find_browser import BrowserMissing, find_browser

Command = Callable[[str, str, int, Path], list[str]]
"""Makes a command line from the browser's program, the front page's URL, the number of pages, an empty directory."""
PLAYWRIGHT = "playwright==1.65.2"
OURS = "Shoal"
SETTING = "SHOAL_BROWSER"
_WITH_CHILDREN = (sys.executable, "-P", str(HERE / "rendering" / "with_children.py"))


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    version: str
    requires: tuple[str, ...]
    command: Command
    goal: float | None = None
    """Our CPU time against its, at most."""


def browser() -> str:
    try:
        return str(find_browser(os.environ.get(SETTING)))
    except BrowserMissing as missing:
        raise CannotMeasure(str(missing)) from missing


def _ours(_: str, url: str, pages: int, empty: Path) -> list[str]:
    rendering = ["--render", "always", "--wait-for", "#done", "--no-archive"]
    return [*_WITH_CHILDREN, *SHOAL_PROGRAM, *shoal_crawl(empty / "home", url, "--max-pages", str(pages), *rendering)]


def _peer(script: str, *words: str) -> Command:
    def command(program: str, url: str, pages: int, _: Path) -> list[str]:
        peer = [PEERS_PYTHON, "-P", str(HERE / "rendering" / script)]
        return [*_WITH_CHILDREN, *peer, *words, program, url, str(pages)]

    return command


CONTENDERS = (
    Contender(OURS, shoal.__version__, (), _ours),
    Contender(
        "Playwright, a context per page", "1.65.2", (PLAYWRIGHT,), _peer("playwright_peer.py", "context"), goal=0.75
    ),
    Contender(
        "Playwright, a browser per page", "1.65.2", (PLAYWRIGHT,), _peer("playwright_peer.py", "browser"), goal=0.45
    ),
    Contender(
        "Crawlee's PlaywrightCrawler",
        "1.11.0",
        ("crawlee[playwright]==1.11.0", PLAYWRIGHT),
        _peer("crawlee_browser_peer.py"),
        goal=0.7,
    ),
    Contender(
        "scrapy-playwright",
        "0.0.48",
        ("scrapy-playwright==0.0.48", "scrapy==2.19.0", PLAYWRIGHT),
        _peer("scrapy_browser_peer.py"),
        goal=0.7,
    ),
)
