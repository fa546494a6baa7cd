"""`python -m benchmarks [PART...]`: measures these parts, or all except the soaks, and prints the report.

The results of a complete part are saved in results/, and RESULTS.md is written from all saved results.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

from benchmarks.api.measured import QUICK as QUICK_API
from benchmarks.api.measured import WHOLE as WHOLE_API
from benchmarks.api.measured import api
from benchmarks.comparison import compare
from benchmarks.contenders import HERE, PEERS, Contender, fresh, install
from benchmarks.data_out import DATASET_ITEMS, PAIRS, data_out
from benchmarks.data_out import PAGES as DATA_PAGES
from benchmarks.extracting import PAGES as EXTRACT_PAGES
from benchmarks.extracting import extract
from benchmarks.fleet.bulk import URLS as BULK_URLS
from benchmarks.fleet.bulk import bulk
from benchmarks.fleet.connections import SLICES, connections
from benchmarks.fleet.lanes import FLOOD, lanes
from benchmarks.fleet.rivals import RIVALS, SCRAPY_REDIS, Rival
from benchmarks.fleet.scaling import PAGES as SCALING_PAGES
from benchmarks.fleet.scaling import scale
from benchmarks.fleet.soaking import FleetSoak, soak_fleet
from benchmarks.fleet.versus import MADE, REAL, FleetSite, Versus, versus
from benchmarks.growth import QUICK, SHAPES, WHOLE, Grown, Growth, Stages, grow
from benchmarks.measure import CannotMeasure
from benchmarks.parts import PARTS
from benchmarks.proxied import PAGES as PROXIED_PAGES
from benchmarks.proxied import proxied
from benchmarks.rendering.measured import QUICK as QUICK_RENDER
from benchmarks.rendering.measured import WHOLE as WHOLE_RENDER
from benchmarks.rendering.measured import rendered
from benchmarks.report import render
from benchmarks.results import Figures, Result, circumstances, keep, kept
from benchmarks.soak import PAGES as SOAK_PAGES
from benchmarks.soak import Soak, soak

KEPT = HERE / "results"
QUICK_PAGES = 300
QUICK_SOAK_PAGES = 4_000
QUICK_FLOOD = 10_000
QUICK_BULK = 20_000
QUICK_SLICES = 50


def main() -> None:
    options = _arguments()
    # So that ending this process also ends the server and the crawl that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for name in options.parts or USUAL:
            _benchmark(name, options)
    except CannotMeasure as error:
        sys.exit(f"error: {error}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", type=_part, help=", ".join(ALL))
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="crawls per contender (%(default)s)")
    parser.add_argument(
        "--peers", type=_peers, default=",".join(PEERS), metavar="A,B", help="crawlers to compare with (%(default)s)"
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_PAGES} pages, one run, nothing saved: to see that all works"
    )
    return parser.parse_args()


def _part(name: str) -> str:
    if name not in ALL:
        raise argparse.ArgumentTypeError(f"unknown part {name}; choose from {', '.join(ALL)}")
    return name


def _peers(names: str) -> list[Contender]:
    wanted = [name for name in names.split(",") if name]
    if unknown := [name for name in wanted if name not in PEERS]:
        raise argparse.ArgumentTypeError(f"unknown peer {', '.join(unknown)}; choose from {', '.join(PEERS)}")
    return [PEERS[name] for name in wanted]


def _benchmark(name: str, options: argparse.Namespace) -> None:
    result = Result(circumstances(), _figures(name, options))
    print(render({name: result}))
    if not options.quick:
        keep(KEPT, name, result)
        # A test measures tenants (`make tenants`), and their figures are written by hand.
        (HERE / "RESULTS.md").write_text(f"{render(kept(KEPT, ALL))}\n{(HERE / 'tenants.md').read_text()}")


def _figures(name: str, options: argparse.Namespace) -> Figures:
    rounds = 1 if options.quick else options.runs
    if name in PARTS:
        install(chain.from_iterable(peer.requirements for peer in options.peers))
        part = PARTS[name]
        return compare(part, options.peers, min(QUICK_PAGES, part.pages) if options.quick else part.pages, rounds)
    return OTHERS[name](options.quick, rounds)


def _growth(quick: bool, runs: int) -> Growth:
    stages = QUICK if quick else WHOLE
    return Growth(stages, [_grown(stages, shape) for _ in range(runs) for shape in SHAPES])


def _grown(stages: Stages, shape: str) -> Grown:
    with fresh() as scratch:
        return grow(stages, shape, scratch)


def _soak(quick: bool) -> Soak:
    with fresh() as scratch:
        return soak(QUICK_SOAK_PAGES if quick else SOAK_PAGES, scratch)


def _versus(site: FleetSite, rivals: Sequence[Rival], quick: bool, runs: int) -> Versus:
    install(chain.from_iterable(rival.requires for rival in rivals))
    return versus(site, rivals, QUICK_PAGES if quick else site.pages, runs)


def _soak_fleet(quick: bool) -> FleetSoak:
    with fresh() as scratch:
        return soak_fleet(QUICK_SOAK_PAGES if quick else SOAK_PAGES, scratch)


OTHERS: Mapping[str, Callable[[bool, int], Figures]] = {
    "extract": lambda quick, runs: extract(QUICK_PAGES if quick else EXTRACT_PAGES, runs),
    "data": lambda quick, runs: (
        data_out(QUICK_PAGES, 12_000, runs, 1) if quick else data_out(DATA_PAGES, DATASET_ITEMS, runs, runs * PAIRS)
    ),
    "proxies": lambda quick, runs: proxied(QUICK_PAGES if quick else PROXIED_PAGES, runs),
    "growth": _growth,
    "fleet": partial(_versus, MADE, RIVALS),
    "fleet-pages": partial(_versus, REAL, [SCRAPY_REDIS]),
    "fleet-lanes": lambda quick, runs: lanes(QUICK_FLOOD if quick else FLOOD, runs),
    "fleet-scaling": lambda quick, runs: scale(QUICK_PAGES * 4 if quick else SCALING_PAGES, runs),
    "fleet-bulk": lambda quick, _: bulk(QUICK_BULK if quick else BULK_URLS),
    "fleet-connections": lambda quick, _: connections(QUICK_SLICES if quick else SLICES),
    "api": lambda quick, runs: api(QUICK_API if quick else WHOLE_API, runs),
    "render": lambda quick, runs: rendered(QUICK_RENDER if quick else WHOLE_RENDER, runs),
    "soak": lambda quick, _: _soak(quick),
    "fleet-soak": lambda quick, _: _soak_fleet(quick),
}
"""Name -> function of (quick, number of runs)."""
LONG = ("soak", "fleet-soak")
ALL = [*PARTS, *OTHERS]
USUAL = [name for name in ALL if name not in LONG]

if __name__ == "__main__":
    main()
