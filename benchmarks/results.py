"""The latest results, one file in results/ per part, so that one part can be measured without the others."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from benchmarks.api.measured import Api
from benchmarks.comparison import Comparison
from benchmarks.data_out import DataOut
from benchmarks.extracting import Extracted
from benchmarks.fleet.bulk import Bulk
from benchmarks.fleet.connections import Connections
from benchmarks.fleet.lanes import Lanes
from benchmarks.fleet.scaling import Scaling
from benchmarks.fleet.soaking import FleetSoak
from benchmarks.fleet.versus import Versus
from benchmarks.growth import Growth
from benchmarks.proxied import Proxied
from benchmarks.rendering.measured import Rendered
from benchmarks.soak import Soak

Figures = (
    Comparison
    | Extracted
    | Growth
    | Soak
    | Versus
    | Lanes
    | Scaling
    | Bulk
    | Connections
    | FleetSoak
    | Api
    | DataOut
    | Rendered
    | Proxied
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    command: str
    date: str
    machine: str
    load: float
    """Before the start."""
    python: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one part."""

    circumstances: Circumstances
    figures: Figures


_FILE = TypeAdapter(Result)


def circumstances() -> Circumstances:
    """The current circumstances."""
    return Circumstances(
        command=shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        load=os.getloadavg()[0],
        python=platform.python_version(),
    )


def keep(directory: Path, name: str, result: Result) -> None:
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.json").write_bytes(_FILE.dump_json(result, indent=1) + b"\n")


def kept(directory: Path, names: Iterable[str]) -> dict[str, Result]:
    """The saved results, in the order of the names."""
    files = {name: directory / f"{name}.json" for name in names}
    return {name: _FILE.validate_json(file.read_bytes()) for name, file in files.items() if file.exists()}


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
