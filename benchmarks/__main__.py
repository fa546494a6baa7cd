"""`python -m benchmarks`: builds the site, lets the contenders crawl it in turns, prints and writes RESULTS.md."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contenders import HERE, PEERS, SHOAL, WORK, Contender, install
from benchmarks.measure import CannotMeasure, Run, measure
from benchmarks.report import Results, render
from benchmarks.rooms import sample_rooms
from benchmarks.servers import nginx, version
from benchmarks.site import build

QUICK_PAGES = 300


def main() -> None:
    asked = _arguments()
    # So that ending this process also ends the server and the crawl it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        _benchmark(asked)
    except CannotMeasure as error:
        sys.exit(f"error: {error}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--pages", type=int, default=5000, metavar="N", help="pages of the site (%(default)s)")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="crawls of each contender (%(default)s)")
    parser.add_argument(
        "--peers", type=_peers, default=",".join(PEERS), metavar="A,B", help="whom to compare with (%(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_PAGES} pages, one run, printed only: does everything work?"
    )
    asked = parser.parse_args()
    if asked.quick:
        asked.pages, asked.runs = QUICK_PAGES, 1
    return asked


def _peers(names: str) -> list[Contender]:
    wanted = [name for name in names.split(",") if name]
    if unknown := [name for name in wanted if name not in PEERS]:
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(PEERS)}")
    return [PEERS[name] for name in wanted]


def _benchmark(asked: argparse.Namespace) -> None:
    contenders: list[Contender] = [SHOAL, *asked.peers]
    load = os.getloadavg()[0]
    WORK.mkdir(exist_ok=True)
    install(asked.peers)
    build(WORK / "site", asked.pages)
    with _fresh() as scratch, nginx(WORK / "site", scratch) as url:
        with _fresh() as empty:
            # First of all, because it also compiles whatever of Shoal is not compiled yet.
            rooms = sample_rooms(url, asked.pages, empty)
        runs = _rounds(contenders, url, asked.pages, asked.runs)
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    text = render(Results(command, asked.pages, version(), load, runs, rooms), contenders)
    print(text)
    if not asked.quick:
        (HERE / "RESULTS.md").write_text(text)


def _rounds(contenders: Sequence[Contender], url: str, pages: int, rounds: int) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {contender.name: [] for contender in contenders}
    for number in range(1, rounds + 1):
        for contender in contenders:
            with _fresh() as empty:
                run = measure(contender.command(url, pages, empty), pages, empty)
            runs[contender.name].append(run)
            print(f"round {number}: {contender.name} {run.cpu_ms_per_page:.2f} ms per page", file=sys.stderr)
    return runs


@contextmanager
def _fresh() -> Iterator[Path]:
    with TemporaryDirectory(dir=WORK) as name:
        yield Path(name)


if __name__ == "__main__":
    main()
