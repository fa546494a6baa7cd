"""The crawlers that are measured, and the environment the peers live in, apart from the project's own."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import shoal
from benchmarks.measure import CannotMeasure

HERE = Path(__file__).parent
WORK = HERE / ".work"
CONCURRENCY = "64"
SAMPLER = "py-spy==0.4.3"

_PEERS_BIN = WORK / "peers" / "bin"
_PEERS_PYTHON = str(_PEERS_BIN / "python")

Command = Callable[[str, int, Path], list[str]]
"""What is run, from the front page's URL, the number of pages, and an empty directory."""


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    package: str
    version: str
    commands: Mapping[str, Command]
    """By the names of the parts it takes part in."""


def _shoal(*spider: str) -> Command:
    program = str(Path(sys.executable).with_name("shoal"))
    unhindered = ["--allow-private", "--ignore-robots", "--rate", "0", "--per-host", CONCURRENCY]

    def command(url: str, pages: int, empty: Path) -> list[str]:
        bounded = ["--concurrency", CONCURRENCY, "--max-pages", str(pages)]
        told = ["--json", "--quiet", "--home", str(empty / "home")]
        return [program, "crawl", *spider, url, *unhindered, *bounded, *told]

    return command


def _peer(script: str, *words: str) -> Command:
    return lambda url, pages, _: [_PEERS_PYTHON, "-P", str(HERE / script), *words, url, str(pages)]


SHOAL = Contender(
    "Shoal", "shoal", shoal.__version__, {"links": _shoal(), "items": _shoal(str(HERE / "items_spider.py"))}
)
PEERS = {
    "scrapy": Contender(
        "Scrapy", "scrapy", "2.19.0", {part: _peer("scrapy_peer.py", part) for part in ("links", "items")}
    ),
    "crawlee": Contender("Crawlee for Python", "crawlee[parsel]", "1.11.0", {"links": _peer("crawlee_peer.py")}),
}


def install(peers: Iterable[Contender]) -> None:
    """Brings the peers and the sampler, unless they are there already."""
    if not Path(_PEERS_PYTHON).exists():
        venv.create(_PEERS_BIN.parent, with_pip=True)
    wanted = [f"{peer.package}=={peer.version}" for peer in peers] + [SAMPLER]
    pip = [_PEERS_PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"could not install {', '.join(wanted)}; --peers chooses others:\n{done.stderr[-2000:]}")


def sampler() -> str:
    return str(_PEERS_BIN / "py-spy")
