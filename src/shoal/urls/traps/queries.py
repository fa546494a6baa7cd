"""Filters that can be combined without end: few values, and ever more queries made of them.

A query counts only if it has three or more parameters and every one of its values was met before under the same path.
So neither the pages of a list count (their number is new each time, and does not matter here) nor products by their id.
What is remembered is bounded, and forgotten with the process; then a path has its full measure again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

MOST_COMBINATIONS = 1_000
"""Per path."""
FEWEST_PARAMS = 3
LEARNT_PER_PATH = 2_000
"""Values, and the queries they were first met in; what is new after that stays new, and is followed."""
REMEMBERED = 100_000
"""Values and combinations over all paths: 10 MB at most."""
EMPTY_PATH = 8
"""What a path weighs by itself, in values."""

_PAGING = frozenset(
    (
        *("page", "p", "pg", "pn", "paged", "pagenum", "pageno", "page_no", "start", "offset", "from", "skip"),
        *("limit", "per_page", "perpage", "pagesize", "page_size"),
    )
)


@dataclass(slots=True)
class _Path:
    met: set[int] = field(default_factory=set)
    """Values and combinations of them, by hash."""
    recombined: int = 0
    """How many of the combinations brought no new value."""

    def __len__(self) -> int:
        return EMPTY_PATH + len(self.met)


class Queries:
    def __init__(self, capacity: int = REMEMBERED) -> None:
        self._capacity = capacity
        self._paths: dict[int, _Path] = {}
        self._held = 0

    def recombined(self, url: str) -> str | None:
        if url.count("&") < FEWEST_PARAMS - 1:
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


def fellow_queries(url: str, trapped: Iterable[str]) -> str | None:
    """Why a URL is likely to be refused like others that were."""
    path, params = _counted(url)
    alike = len(params) >= FEWEST_PARAMS and any(_counted(other)[0] == path for other in trapped)
    return f"{_why(path)}, unless it has a value not met before" if alike else None


def _counted(url: str) -> tuple[str, list[str]]:
    """The path, and the parameters that tell combinations apart."""
    path, _, query = url.partition("?")
    return path, [param for param in query.split("&") if param.partition("=")[0].lower() not in _PAGING]


def _why(path: str) -> str:
    return f"{MOST_COMBINATIONS:,} combinations of its query values under {path}, which are the most"
