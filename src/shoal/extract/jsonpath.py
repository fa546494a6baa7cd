"""JSONPath, the part people use: `$ .name ['name'] [0] [-1] [1:3] [*] .* ..name [?(@.a == 'x')] [?(@.a)]`.

A path is read once into steps and never evaluated as code. A filter compares a path below `@` with a string, number,
true, false or null by `== != < <= > >=`, or asks whether there is one. At most MAX_RESULTS values are held after any
step, and `..` may stand twice, outside filters, because each one may visit all that the one before it has found.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import NoReturn

from shoal.extract.faults import BadSelector
from shoal.extract.json_text import MAX_DEPTH, Json

MAX_RESULTS = 100_000
MAX_STEPS = 50
MAX_DESCENTS = 2
MAX_FILTER_DEPTH = 3

Step = Callable[[Json], Iterable[Json]]

_NAME = re.compile(r"[^\W\d][\w-]*")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,18})?")
_SLICE = re.compile(r"\s*(-?\d{1,9})?\s*(?:(:)\s*(-?\d{1,9})?\s*(?::\s*(-?\d{1,9})?\s*)?)?\]")
_BLANK = re.compile(r"\s*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
_COMPARE: dict[str, Callable[[Json, Json], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JsonPath:
    """Gives values as JSON has them: numbers, lists and objects are not made strings."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps = _Reader(text).path()

    def select(self, data: Json) -> list[Json]:
        return _walked(self._steps, data)

    def first(self, data: Json) -> Json:
        """None also if the first value is null."""
        return next(iter(self.select(data)), None)


@lru_cache(4_096)
def jsonpath(text: str) -> JsonPath:
    """Raises BadSelector."""
    return JsonPath(text)


def _walked(steps: list[Step], data: Json) -> list[Json]:
    found = [data]
    for step in steps:
        found = list(islice((value for each in found for value in step(each)), MAX_RESULTS))
    return found


def _named(name: str) -> Step:
    return lambda value: (value[name],) if isinstance(value, dict) and name in value else ()


def _indexed(index: int) -> Step:
    return lambda value: (value[index],) if isinstance(value, list) and -len(value) <= index < len(value) else ()


def _sliced(part: slice) -> Step:
    return lambda value: value[part] if isinstance(value, list) else ()


def _children(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _descendants(value: Json) -> Iterator[Json]:
    """The value and all below it, in the order they are written."""
    pending: list[tuple[Json, int]] = [(value, 0)]
    while pending:
        each, depth = pending.pop()
        yield each
        if isinstance(each, dict | list) and depth < MAX_DEPTH:
            pending.extend((child, depth + 1) for child in reversed(list(_children(each))))


def _below(step: Step) -> Step:
    return lambda value: (found for each in _descendants(value) for found in step(each))


def _filtered(test: Callable[[Json], bool]) -> Step:
    return lambda value: (each for each in _children(value) if test(each))


def _comparison(steps: list[Step], sign: str, wanted: Json) -> Callable[[Json], bool]:
    if sign == "==":
        return lambda value: any(_same(found, wanted) for found in _walked(steps, value))
    if sign == "!=":
        return lambda value: not any(_same(found, wanted) for found in _walked(steps, value))
    compare = _COMPARE[sign]
    return lambda value: any(_alike(found, wanted) and compare(found, wanted) for found in _walked(steps, value))


def _same(one: Json, other: Json) -> bool:
    # True == 1 to Python, not to JSON.
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _alike(one: Json, other: Json) -> bool:
    return _kind(one) is not None and _kind(one) == _kind(other)


def _kind(value: Json) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        return "number"
    return "text" if isinstance(value, str) else None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._descents = 0
        self._filters = 0

    def path(self) -> list[Step]:
        self._take("$", "a path begins with $")
        steps = self._steps()
        if self._at < len(self._text):
            self._fail("a step begins with . or [")
        return steps

    def _steps(self) -> list[Step]:
        steps: list[Step] = []
        while step := self._step():
            steps.append(step)
            if len(steps) > MAX_STEPS:
                self._fail(f"a path has at most {MAX_STEPS} steps")
        return steps

    def _step(self) -> Step | None:
        if self._skip(".."):
            self._descents += 1
            if self._descents > MAX_DESCENTS or self._filters:
                self._at -= len("..")
                self._fail(f".. may stand {MAX_DESCENTS} times in a path, and not in a filter")
            return _below(self._bracketed() if self._skip("[") else self._name())
        if self._skip("."):
            return self._name()
        return self._bracketed() if self._skip("[") else None

    def _name(self) -> Step:
        return _children if self._skip("*") else _named(self._match(_NAME, "a name or * belongs here")[0])

    def _bracketed(self) -> Step:
        self._blank()
        if self._skip("?"):
            return self._filter()
        step: Step | None = None
        if self._skip("*"):
            step = _children
        elif self._text[self._at : self._at + 1] in ("'", '"'):
            step = _named(self._quoted())
        if step is None:
            return self._place()
        self._blank()
        self._take("]", "] belongs here")
        return step

    def _place(self) -> Step:
        start_at = self._at
        first, colon, stop, stride = self._match(
            _SLICE, "a name in quotes, a number, a slice or * belongs here"
        ).groups()
        if colon is None:
            if first is None:
                self._at = start_at
                self._fail("the brackets are empty")
            return _indexed(int(first))
        if stride is not None and int(stride) == 0:
            self._at = start_at
            self._fail("a slice cannot take steps of 0")
        return _sliced(slice(*(None if part is None else int(part) for part in (first, stop, stride))))

    def _filter(self) -> Step:
        self._filters += 1
        if self._filters > MAX_FILTER_DEPTH:
            self._fail(f"filters may be nested {MAX_FILTER_DEPTH} deep")
        self._blank()
        closing = ")" if self._skip("(") else ""
        self._blank()
        self._take("@", "a filter begins with @")
        steps = self._steps()
        self._blank()
        test: Callable[[Json], bool]
        if sign := self._matched(_OPERATOR):
            self._blank()
            test = _comparison(steps, sign[0], self._literal())
        else:
            test = lambda value: bool(_walked(steps, value))  # noqa: E731
        self._blank()
        self._take(closing + "]", f"{closing}] belongs here")
        self._filters -= 1
        return _filtered(test)

    def _literal(self) -> Json:
        if number := self._matched(_NUMBER):
            return Decimal(number[0])
        if word := self._matched(_NAME):
            if word[0] in _WORDS:
                return _WORDS[word[0]]
            self._at -= len(word[0])
        return self._quoted()

    def _quoted(self) -> str:
        found = self._match(_QUOTED, "a text in quotes, a number, true, false or null belongs here")
        return _ESCAPE.sub(r"\1", found[1] if found[1] is not None else found[2])

    def _blank(self) -> None:
        self._matched(_BLANK)

    def _skip(self, text: str) -> bool:
        there = self._text.startswith(text, self._at)
        self._at += len(text) * there
        return there

    def _take(self, text: str, why: str) -> None:
        if not self._skip(text):
            self._fail(why)

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found

    def _match(self, pattern: re.Pattern[str], why: str) -> re.Match[str]:
        return self._matched(pattern) or self._fail(why)

    def _fail(self, why: str) -> NoReturn:
        raise BadSelector(self._text, self._at + 1, why)
