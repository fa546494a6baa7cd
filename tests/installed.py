"""An interpreter in which only what `pip install '.[extra]'` brings can be imported, whatever else is installed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import shoal

_PROJECT = Path(shoal.__file__).parents[2] / "pyproject.toml"
_BLIND = """
import sys

class Blind:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in UNSEEN else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

UNSEEN = frozenset({unseen!r})
sys.meta_path = [Blind(finder) for finder in sys.meta_path]
"""


def as_installed(folder: Path, *extras: str) -> dict[str, str]:
    """The environment of such an interpreter; what it needs for that is written to the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_BLIND.format(unseen=sorted(_modules_without(extras))))
    return {"PYTHONPATH": f"{folder}:{Path(shoal.__file__).parents[1]}"}


def without_scanner(folder: Path) -> dict[str, str]:
    """The environment of an interpreter for which no compiler was: libraries parse pages, big ones in a reader."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text('import sys\nsys.modules["shoal.extract._scan_page"] = None\n')
    return {"PYTHONPATH": f"{folder}:{Path(shoal.__file__).parents[1]}"}


def asked_for(extra: str) -> set[str]:
    """The distributions that it names itself."""
    return {canonicalize_name(wanted.name) for wanted in _wanted([extra])}


@cache
def _modules_without(extras: tuple[str, ...]) -> set[str]:
    """Those of distributions that the extras do not lead to."""
    brought = _closure(extras) | {"shoal"}
    modules = packages_distributions().items()
    return {module for module, names in modules if brought.isdisjoint(map(canonicalize_name, names))}


def _wanted(extras: Iterable[str]) -> list[Requirement]:
    optional = _project()["optional-dependencies"]
    return [Requirement(text) for extra in extras for text in optional[extra]]


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(_PROJECT.read_text())["project"]
    return project


def _closure(extras: Iterable[str]) -> set[str]:
    pending = [*map(Requirement, _project()["dependencies"]), *_wanted(extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while pending:
        wanted = pending.pop()
        name, wanted_extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, wanted_extras) in seen or not _applies(wanted, frozenset({""})):
            continue
        seen.add((name, wanted_extras))
        needed = (Requirement(text) for text in distribution(name).requires or ())
        pending += [_bare(need) for need in needed if _applies(need, wanted_extras | {""})]
    return {name for name, _ in seen}


def _applies(wanted: Requirement, extras: Iterable[str]) -> bool:
    return wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras)


def _bare(wanted: Requirement) -> Requirement:
    """Its marker has been judged, with the extras that it was about."""
    wanted.marker = None
    return wanted
