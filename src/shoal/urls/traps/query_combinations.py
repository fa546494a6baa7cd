"""Filters that can be combined without end: few values, but ever more queries made of them.

A query counts only if it has three or more parameters and all of its values were seen before under the same path. So
neither the pages of a list count (their number is new each time, and is ignored here) nor products with an id.
The memory is bounded and ends with the process. Then a path has its full limit again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from shoal.urls.traps.url_growth import split_query

MOST_COMBINATIONS = 1_000
"""Per path."""
FEWEST_PARAMS = 3
LEARNT_PER_PATH = 2_000
"""Values, and the queries in which they first appeared. Later new values stay new, and are followed."""
REMEMBERED = 100_000
"""Values and combinations over all paths: 10 MB at most."""
EMPTY_PATH = 8
"""Cost of a path itself, in values."""

_PAGING = frozenset(
    (
        *("page", "p", "pg", "pn", "paged", "pagenum", "pageno", "page_no", "start", "offset", "from", "skip"),
        *("limit", "per_page", "perpage", "pagesize", "page_size"),
    )
)


@dataclass(slots=True)
class _Path:
    met: set[int] = field(default_factory=set)
    """Hashes of values and of combinations."""
    recombined: int = 0
    """How many of the combinations had no new value."""

    def __len__(self) -> int:
        return EMPTY_PATH + len(self.met)


class Queries:
    def __init__(self, capacity: int = REMEMBERED) -> None:
        self._capacity = capacity
        self._paths: dict[int, _Path] = {}
        self._held = 0

    def recombined(self, url: str) -> str | None:
        if url.count("&") + url.count(";") < FEWEST_PARAMS - 1:
            return None
        path, params = _counted(url)
        return None if len(params) < FEWEST_PARAMS or self._is_within_measure(path, params) else _why(path)

    def _is_within_measure(self, path: str, params: list[str]) -> bool:
        known = self._paths.get(hash(path)) or self._begin(path)
        combination = hash("&".join(params))
        if combination in known.met:
            return True
        new = set(map(hash, params)) - known.met
        if not new:
            if known.recombined >= MOST_COMBINATIONS:
                return False
            known.recombined += 1
        elif len(known.met) >= LEARNT_PER_PATH:
            return True
        new.add(combination)
        known.met |= new
        self._hold(len(new))
        return True

    def _begin(self, path: str) -> _Path:
        self._hold(EMPTY_PATH)
        known = self._paths[hash(path)] = _Path()
        return known

    def _hold(self, more: int) -> None:
        self._held += more
        while self._held > self._capacity:
            self._held -= len(self._paths.pop(next(iter(self._paths))))


def likely_query_trap(url: str, trapped: Iterable[str]) -> str | None:
    """Why a URL will probably be skipped like the given ones."""
    path, params = _counted(url)
    alike = len(params) >= FEWEST_PARAMS and any(_counted(other)[0] == path for other in trapped)
    return f"{_why(path)}, unless it has a new value" if alike else None


def _counted(url: str) -> tuple[str, list[str]]:
    """The path, and the parameters that distinguish combinations."""
    path, _, query = url.partition("?")
    return path, [param for param in split_query(query) if param.partition("=")[0].lower() not in _PAGING]


def _why(path: str) -> str:
    return f"{MOST_COMBINATIONS:,} combinations of its query values under {path} (the limit)"
