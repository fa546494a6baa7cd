"""The crawlers that are measured, and the environment the peers live in, apart from the project's own."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Callable, Iterable
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


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    package: str
    version: str
    command: Callable[[str, int, Path], list[str]]
    """What is run, from the front page's URL, the number of pages, and an empty directory."""


def _shoal(url: str, pages: int, empty: Path) -> list[str]:
    program = str(Path(sys.executable).with_name("shoal"))
    unhindered = ["--allow-private", "--ignore-robots", "--rate", "0", "--per-host", CONCURRENCY]
    bounded = ["--concurrency", CONCURRENCY, "--max-pages", str(pages)]
    return [program, "crawl", url, *unhindered, *bounded, "--json", "--quiet", "--home", str(empty / "home")]


def _scrapy(url: str, pages: int, empty: Path) -> list[str]:
    return [_PEERS_PYTHON, "-P", str(HERE / "scrapy_peer.py"), url, str(pages)]


def _crawlee(url: str, pages: int, empty: Path) -> list[str]:
    return [_PEERS_PYTHON, "-P", str(HERE / "crawlee_peer.py"), url, str(pages)]


SHOAL = Contender("Shoal", "shoal", shoal.__version__, _shoal)
PEERS = {
    "scrapy": Contender("Scrapy", "scrapy", "2.19.0", _scrapy),
    "crawlee": Contender("Crawlee for Python", "crawlee[parsel]", "1.11.0", _crawlee),
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
