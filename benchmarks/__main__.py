"""`python -m benchmarks`: for each part, builds its site and lets the contenders crawl it in turns.

Prints the report; a whole run also writes it to RESULTS.md.
"""

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
from benchmarks.parts import PARTS, Part
from benchmarks.report import Circumstances, Results, render
from benchmarks.rooms import sample_rooms
from benchmarks.servers import nginx, version

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
    usual = ", ".join(f"{part.pages} for {part.name}" for part in PARTS.values())
    parser.add_argument("--only", choices=PARTS, help="one part, printed only")
    parser.add_argument("--pages", type=int, metavar="N", help=f"pages of a site ({usual})")
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
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    circumstances = Circumstances(command, load=os.getloadavg()[0], server=version())
    WORK.mkdir(exist_ok=True)
    install(asked.peers)
    parts = [PARTS[asked.only]] if asked.only else PARTS.values()
    contenders = [SHOAL, *asked.peers]
    text = render(circumstances, [_results(part, contenders, asked.pages or part.pages, asked.runs) for part in parts])
    print(text)
    if not asked.quick and not asked.only:
        (HERE / "RESULTS.md").write_text(text)


def _results(part: Part, contenders: Sequence[Contender], pages: int, rounds: int) -> Results:
    taking_part = [contender for contender in contenders if part.name in contender.commands]
    site = WORK / part.name
    part.build(site, pages)
    with _fresh() as scratch, nginx(site, scratch) as url:
        with _fresh() as empty:
            # First of all, because it also compiles whatever of Shoal is not compiled yet.
            rooms = sample_rooms(SHOAL.commands[part.name](url, pages, empty), part.expected(pages), empty)
        runs: dict[str, list[Run]] = {contender.name: [] for contender in taking_part}
        for _ in range(rounds):
            for contender in taking_part:
                runs[contender.name].append(_run(contender, part, url, pages))
    return Results(part, pages, taking_part, runs, rooms)


def _run(contender: Contender, part: Part, url: str, pages: int) -> Run:
    with _fresh() as empty:
        run = measure(contender.commands[part.name](url, pages, empty), part.expected(pages), empty)
    print(f"{part.name}: {contender.name} {run.cpu_ms_per_page:.2f} ms per page", file=sys.stderr)
    return run


@contextmanager
def _fresh() -> Iterator[Path]:
    with TemporaryDirectory(dir=WORK) as name:
        yield Path(name)


if __name__ == "__main__":
    main()
