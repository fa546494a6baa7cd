"""The projects that callers may name: those of SHOAL_SCRAPY_PROJECTS, and those that were uploaded."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from shoal.control.async_bridge import bridge
from shoal.control.ownership import owner
from shoal.control.scrapyd.spider_lists import spiders_of_project
from shoal.errors import UsageError
from shoal.fleet.scrapy_process import is_folder
from shoal.fleet.scrapy_versions import find_version
from shoal.model import PACKAGE
from shoal.store.fleet.scrapy_projects import uploaded_projects, versions_of
from shoal.store.fleet.scrapyd_jobs import has_scrapyd_jobs

REMEMBERED_S = 30.0
"""How long a list of spiders of an operator's project is used again: each takes a second of processor time."""


@dataclass(frozen=True, slots=True)
class Project:
    name: str
    place: str
    """As `ScrapyRun.project` has it."""
    version: str | None
    known_spiders: Sequence[str] | None
    """None: nobody knows until they are listed."""

    def spiders(self) -> Sequence[str]:
        """Raises UsageError."""
        return _lists.of(self.place) if self.known_spiders is None else self.known_spiders

    def check_spider(self, name: str) -> None:
        """Raises UsageError. A project that only workers have cannot be asked."""
        if (self.known_spiders is not None or _is_here(self.place)) and name not in self.spiders():
            raise UsageError(f"spider '{name}' not found")


def declared() -> dict[str, str]:
    return dict(bridge().settings.scrapy_projects)


def project_names() -> list[str]:
    return sorted({*declared(), *uploaded_projects(bridge().store)})


def find_project(name: str, version: str | None) -> Project:
    """The latest version if none is given. Raises UsageError."""
    if (place := declared().get(name)) is not None:
        if version:
            raise UsageError(f"version '{version}' not found")
        return Project(name, place, None, None)
    found = find_version(bridge().store, name, version)
    return Project(name, f"{PACKAGE}{found.package}", found.version, found.spiders)


def check_known(name: str | None) -> None:
    """A project whose versions were deleted is known while it has jobs. Raises UsageError."""
    store = bridge().store
    if name is None or name in declared() or versions_of(store, name) or has_scrapyd_jobs(store, owner(), name):
        return
    raise UsageError(f"project '{name}' not found")


def _is_here(place: str) -> bool:
    """Imports nothing of it, as looking for a module below a package would."""
    return Path(place).is_dir() if is_folder(place) else find_spec(place.partition(".")[0]) is not None


class _RememberedLists:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lists: dict[str, tuple[float, list[str]]] = {}

    def of(self, place: str) -> list[str]:
        # One at a time: many callers at once need not import it many times.
        with self._lock:
            until, names = self._lists.get(place, (0.0, []))
            if time.monotonic() > until:
                if not _is_here(place):
                    raise UsageError(f"this project is at {place}, which the machine of the API does not have")
                names = spiders_of_project(place)
                self._lists[place] = time.monotonic() + REMEMBERED_S, names
            return names


_lists = _RememberedLists()
