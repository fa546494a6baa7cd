"""JSONPath by RFC 9535: selects values from JSON. `jsonpath_parser` compiles a path to the functions here.

One thing is allowed beyond the RFC: a hyphen in a name after a dot, as in `$.item-list`. At most MAX_RESULTS values are
kept after any step. The cost of a path is estimated in `selector_cost`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import islice

from shoal.extract.parse_json import Json

MAX_RESULTS = 100_000

Selector = Callable[[Json, Json], Iterable[Json]]
"""From a value, and the root of the document, to the selected children of the value."""
Query = Callable[[Json, Json], list[Json]]
"""From the current value, and the root of the document, to the values that the query finds."""


class JsonPath:
    """Returns JSON values: numbers, lists and objects are not converted to strings."""

    __slots__ = ("_query", "text")

    def __init__(self, text: str) -> None:
        # Imported here: the parser compiles paths to the functions of this module.
        from shoal.extract.jsonpath_parser import parse

        self.text = text
        self._query = parse(text)

    def select(self, data: Json) -> list[Json]:
        return self._query(data, data)

    def first(self, data: Json) -> Json:
        """None also if the first value is null."""
        return next(iter(self.select(data)), None)


@lru_cache(4_096)
def jsonpath(text: str) -> JsonPath:
    """Raises BadSelector."""
    return JsonPath(text)


def query(segments: Sequence[Selector], from_root: bool) -> Query:
    def run(current: Json, root: Json) -> list[Json]:
        found = [root if from_root else current]
        for segment in segments:
            found = list(islice((value for each in found for value in segment(each, root)), MAX_RESULTS))
        return found

    return run


def children_by(selectors: Sequence[Selector]) -> Selector:
    """A segment such as `['a', 0, *]`."""
    if len(selectors) == 1:
        return selectors[0]
    return lambda value, root: (found for select in selectors for found in select(value, root))


def descendants_by(select: Selector) -> Selector:
    """A segment such as `..['a', 0, *]`."""
    return lambda value, root: (found for each in _descendants(value) for found in select(each, root))


def by_name(name: str) -> Selector:
    return lambda value, _: (value[name],) if isinstance(value, dict) and name in value else ()


def by_index(index: int) -> Selector:
    return lambda value, _: (value[index],) if isinstance(value, list) and -len(value) <= index < len(value) else ()


def by_slice(start: int | None, stop: int | None, step: int | None) -> Selector:
    if step == 0:
        return lambda value, _: ()
    part = slice(start, stop, step)
    return lambda value, _: value[part] if isinstance(value, list) else ()


def by_filter(test: Callable[[Json, Json], bool]) -> Selector:
    return lambda value, root: (each for each in children(value) if test(each, root))


def all_children(value: Json, _: Json) -> Iterable[Json]:
    return children(value)


def children(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _descendants(value: Json) -> Iterator[Json]:
    """The value and all values inside it, in document order."""
    pending = [value]
    while pending:
        each = pending.pop()
        yield each
        if isinstance(each, dict | list):
            pending.extend(reversed(list(children(each))))


class _Nothing:
    """The result of a query or function without a value. It is not null."""


NOTHING = _Nothing()


def equal(one: Json, other: Json) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[name]) for name, value in one.items())
    if _is_number(one) and _is_number(other):
        return bool(_exact(one) == _exact(other))
    # True == 1 in Python, but not in JSON.
    return type(one) is type(other) and bool(one == other)


def less(one: Json, other: Json) -> bool:
    """Numbers and texts have an order. Everything else does not."""
    if _is_number(one) and _is_number(other):
        return bool(_exact(one) < _exact(other))
    return isinstance(one, str) and isinstance(other, str) and bool(one < other)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _exact(number: Json) -> Json:
    """A float as it is written, so that 0.1 as a Decimal and as a float are the same number."""
    return Decimal(repr(number)) if isinstance(number, float) else number
