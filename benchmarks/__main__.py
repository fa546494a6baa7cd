"""`python -m benchmarks [PART...]`: measures these parts, or all but the soak, and prints the report.

What a whole part gave is kept in results/, and RESULTS.md is written from all that is kept there.
"""

from __future__ import annotations

import argparse
import signal
import sys

from benchmarks.comparison import Comparison, compare
from benchmarks.contenders import HERE, PEERS, Contender, fresh, install
from benchmarks.extracting import PAGES as EXTRACT_PAGES
from benchmarks.extracting import Extracted, extract
from benchmarks.growth import QUICK, SHAPES, WHOLE, Grown, Growth, Stages, grow
from benchmarks.measure import CannotMeasure
from benchmarks.parts import PARTS
from benchmarks.report import render
from benchmarks.results import Result, circumstances, keep, kept
from benchmarks.soak import PAGES as SOAK_PAGES
from benchmarks.soak import Soak, soak

USUAL = [*PARTS, "extract", "growth"]
ALL = [*USUAL, "soak"]
KEPT = HERE / "results"
QUICK_PAGES = 300
QUICK_SOAK_PAGES = 4_000


def main() -> None:
    asked = _arguments()
    # So that ending this process also ends the server and the crawl it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for name in asked.parts or USUAL:
            _benchmark(name, asked)
    except CannotMeasure as error:
        sys.exit(f"error: {error}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", type=_part, help=", ".join(ALL))
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="crawls of each contender (%(default)s)")
    parser.add_argument(
        "--peers", type=_peers, default=",".join(PEERS), metavar="A,B", help="whom to compare with (%(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_PAGES} pages, one run, printed only: does everything work?"
    )
    return parser.parse_args()


def _part(name: str) -> str:
    if name not in ALL:
        raise argparse.ArgumentTypeError(f"there is no {name}; there are {', '.join(ALL)}")
    return name


def _peers(names: str) -> list[Contender]:
    wanted = [name for name in names.split(",") if name]
    if unknown := [name for name in wanted if name not in PEERS]:
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(PEERS)}")
    return [PEERS[name] for name in wanted]


def _benchmark(name: str, asked: argparse.Namespace) -> None:
    result = Result(circumstances(), _figures(name, asked))
    print(render({name: result}))
    if not asked.quick:
        keep(KEPT, name, result)
        (HERE / "RESULTS.md").write_text(render(kept(KEPT, ALL)))


def _figures(name: str, asked: argparse.Namespace) -> Comparison | Extracted | Growth | Soak:
    if name == "extract":
        return extract(QUICK_PAGES if asked.quick else EXTRACT_PAGES, 1 if asked.quick else asked.runs)
    if name == "growth":
        stages = QUICK if asked.quick else WHOLE
        return Growth(stages, [_grown(stages, shape) for shape in SHAPES])
    if name == "soak":
        with fresh() as scratch:
            return soak(QUICK_SOAK_PAGES if asked.quick else SOAK_PAGES, scratch)
    install(asked.peers)
    part = PARTS[name]
    return compare(part, asked.peers, QUICK_PAGES if asked.quick else part.pages, 1 if asked.quick else asked.runs)


def _grown(stages: Stages, shape: str) -> Grown:
    with fresh() as scratch:
        return grow(stages, shape, scratch)


if __name__ == "__main__":
    main()
