"""The crawlers to measure, and the virtual environment of the peers, separate from the project's own."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import shoal
from benchmarks.measure import CannotMeasure

HERE = Path(__file__).parent
WORK = HERE / ".work"
CONCURRENCY = "64"
SAMPLER = "py-spy==0.4.3"

_PEERS_BIN = WORK / "peers" / "bin"
PEERS_PYTHON = str(_PEERS_BIN / "python")

Command = Callable[[str, int, Path], list[str]]
"""Makes a command line from the front page's URL, the number of pages, and an empty directory."""


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    package: str
    """Of PyPI; empty if it comes with the system."""
    version: str
    commands: Mapping[str, Command]
    """By the names of the parts in which it takes part."""
    also: tuple[str, ...] = ()
    """Further requirements."""

    @property
    def requirements(self) -> tuple[str, ...]:
        return (f"{self.package}=={self.version}", *self.also) if self.package else ()


SHOAL_PROGRAM = (str(Path(sys.executable).with_name("shoal")),)


def shoal_crawl(home: Path, *words: str, pace: Sequence[str] = ("--rate", "0", "--per-host", CONCURRENCY)) -> list[str]:
    """Without any rate limit, unless `pace` has one."""
    unhindered = ["--allow-private", "--ignore-robots", *pace]
    return ["crawl", *words, *unhindered, "--concurrency", CONCURRENCY, "--json", "--quiet", "--home", str(home)]


def _shoal(*words: str) -> Command:
    def command(url: str, pages: int, empty: Path) -> list[str]:
        return [*SHOAL_PROGRAM, *shoal_crawl(empty / "home", *words, url, "--max-pages", str(pages))]

    return command


def _shoal_paced(pace: Sequence[str], *words: str) -> Command:
    def command(url: str, pages: int, empty: Path) -> list[str]:
        return [*SHOAL_PROGRAM, *shoal_crawl(empty / "home", *words, url, "--max-pages", str(pages), pace=pace)]

    return command


def _peer(script: str, *words: str) -> Command:
    return lambda url, pages, _: [PEERS_PYTHON, "-P", str(HERE / script), *words, url, str(pages)]


def _at_rate(peer: Command, rate: float) -> Command:
    """The same, with so many requests a second at each host."""
    return lambda url, pages, empty: [*peer(url, pages, empty), f"{rate:g}"]


def _writing(peer: Command) -> Command:
    """The same, but writes the results to a file."""
    return lambda url, pages, empty: [*peer(url, pages, empty), str(empty / "found.jsonl")]


_MANUALS = ("small-pages", "large-pages", "octave-manual", "sqlalchemy-manual")
TRICKLE_RATE = 20.0
DEFAULT_RATE = 2.0

_KEPT_PAGES = _writing(_peer("scrapy_peer.py", "kept"))
_WGET = _peer("wget_peer.py")
_LOOP = _peer("loop_peer.py")
_SCRAPY_LINKS = _peer("scrapy_peer.py", "links")
_SCRAPY_ITEMS = _peer("scrapy_peer.py", "items")
_CRAWLEE = _peer("crawlee_peer.py", "links")

SHOAL = Contender(
    "Shoal",
    "shoal",
    shoal.__version__,
    {
        "links": _shoal("--no-archive"),
        "tls": _shoal("--no-archive", "--scope", "any"),
        "items": _shoal("--no-archive", str(HERE / "items_spider.py")),
        "archive": _shoal(),
        **dict.fromkeys(_MANUALS, _shoal("--no-archive")),
        "trickle": _shoal_paced(("--rate", f"{TRICKLE_RATE:g}"), "--no-archive"),
        "hosts": _shoal_paced((), "--no-archive", "--scope", "any"),
    },
)
WITHOUT_ARCHIVE = Contender("Shoal, no archive", "shoal", shoal.__version__, {"archive": SHOAL.commands["links"]})
RECORDS_ONLY = Contender(
    "Shoal, records only", "shoal", shoal.__version__, {"links": _shoal("--no-archive", "--no-text")}
)
"""Stores as much of a page as the peers do, and no more."""
PEERS = {
    "scrapy": Contender(
        "Scrapy",
        "scrapy",
        "2.19.0",
        {
            "links": _SCRAPY_LINKS,
            "tls": _SCRAPY_LINKS,
            "items": _writing(_SCRAPY_ITEMS),
            "archive": _SCRAPY_LINKS,
        },
    ),
    "scrapy-dropping": Contender("Scrapy, items dropped", "scrapy", "2.19.0", {"items": _SCRAPY_ITEMS}),
    "scrapy-keeping": Contender(
        "Scrapy, on disk",
        "scrapy",
        "2.19.0",
        {
            **dict.fromkeys(("links", *_MANUALS), _KEPT_PAGES),
            "trickle": _at_rate(_KEPT_PAGES, TRICKLE_RATE),
            "hosts": _at_rate(_KEPT_PAGES, DEFAULT_RATE),
        },
    ),
    "wget": Contender(
        "wget", "", "of the system", {**dict.fromkeys(_MANUALS, _WGET), "trickle": _at_rate(_WGET, TRICKLE_RATE)}
    ),
    "loop": Contender(
        "aiohttp and selectolax by hand",
        "aiohttp",
        "3.14.5",
        {**dict.fromkeys(("links", *_MANUALS), _LOOP), "trickle": _at_rate(_LOOP, TRICKLE_RATE)},
        also=("selectolax==1.0.2",),
    ),
    "crawlee": Contender("Crawlee for Python", "crawlee[parsel]", "1.11.0", {"links": _CRAWLEE, "tls": _CRAWLEE}),
    "crawlee-keeping": Contender(
        "Crawlee for Python, on disk",
        "crawlee[parsel]",
        "1.11.0",
        dict.fromkeys(("links", *_MANUALS), _peer("crawlee_peer.py", "kept")),
    ),
}
"""The `keeping` peers store text, links and queue like Shoal by default, though not all of it survives a kill."""


def install(packages: Iterable[str]) -> None:
    """Installs these packages and the sampler, unless they are installed already."""
    if not Path(PEERS_PYTHON).exists():
        venv.create(_PEERS_BIN.parent, with_pip=True)
    wanted = [*packages, SAMPLER]
    pip = [PEERS_PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"could not install {', '.join(wanted)}:\n{done.stderr[-2000:]}")


@contextmanager
def fresh() -> Iterator[Path]:
    """An empty directory, removed after the block."""
    WORK.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=WORK) as name:
        yield Path(name)


def sampler() -> str:
    return str(_PEERS_BIN / "py-spy")
