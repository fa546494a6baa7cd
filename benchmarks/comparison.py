"""Runs the contenders on a part's site in turns."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contenders import RECORDS_ONLY, SHOAL, WITHOUT_ARCHIVE, WORK, Contender, fresh
from benchmarks.measure import Run, measure
from benchmarks.parts import Part
from benchmarks.rooms import sample_rooms
from benchmarks.servers import Place, free_port, nginx, version


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of one part."""

    part: str
    pages: int
    server: str
    versions: dict[str, str]
    """By contender's name, like `runs`."""
    runs: dict[str, list[Run]]
    """In rounds: the n-th runs of all contenders were made one after the other."""
    rooms: dict[str, float]


def compare(part: Part, peers: Sequence[Contender], pages: int, rounds: int) -> Comparison:
    everybody = (SHOAL, RECORDS_ONLY, WITHOUT_ARCHIVE, *peers)
    contenders = [contender for contender in everybody if part.name in contender.commands]
    place = Place(part.hosts, free_port(), part.tls)
    site = WORK / part.name
    part.build(site, pages, place.href)
    with fresh() as scratch, nginx(place, site, scratch) as extra:
        crawl = _Crawl(part, place.url(0), pages, extra)
        # First, because it also compiles all Python files of Shoal that are not compiled yet.
        rooms = crawl.sampled()
        runs: dict[str, list[Run]] = {contender.name: [] for contender in contenders}
        for _ in range(rounds):
            for contender in contenders:
                runs[contender.name].append(crawl.measured(contender))
    versions = {contender.name: contender.version for contender in contenders}
    return Comparison(part.name, pages, version(), versions, runs, rooms)


@dataclass(frozen=True, slots=True)
class _Crawl:
    part: Part
    url: str
    pages: int
    extra: dict[str, str]
    """Extra environment variables."""

    def sampled(self) -> dict[str, float]:
        with fresh() as empty:
            return sample_rooms(self._command(SHOAL, empty), self.part.expected(self.pages), empty, self.extra)

    def measured(self, contender: Contender) -> Run:
        with fresh() as empty:
            run = measure(self._command(contender, empty), self.part.expected(self.pages), empty, self.extra)
        print(f"{self.part.name}: {contender.name} {run.cpu_ms_per_page:.2f} ms per page", file=sys.stderr)
        return run

    def _command(self, contender: Contender, empty: Path) -> list[str]:
        return contender.commands[self.part.name](self.url, self.pages, empty)
