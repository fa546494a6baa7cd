"""Field sources of an Item class: `css()`, `xpath()`, `jsonpath()` and `regex()`.

Each returns a pydantic field with the pick in its metadata. The selector is compiled at once, so that a bad one
fails where it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypedDict, Unpack

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError, PydanticUndefined

from shoal.errors import UsageError
from shoal.extract.document import Document, Node
from shoal.extract.jsonpath import JsonPath
from shoal.extract.jsonpath import jsonpath as compile_jsonpath
from shoal.extract.parse_numbers import DECIMAL_SIGNS
from shoal.extract.selectors import Regex, Selector, narrowed
from shoal.extract.selectors import css as compile_css
from shoal.extract.selectors import regex as compile_regex
from shoal.extract.selectors import xpath as compile_xpath
from shoal.model.field_type import Precision


@dataclass(frozen=True, slots=True)
class JsonData:
    """A value from a JSON body, as a place to pick from."""

    value: Any


Place = Document | Node | JsonData


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of a page without reading it: its URL, or a column of the row of the list that led to it."""

    column: str | None

    def values(self, known: Any) -> list[Any]:
        if self.column is None:
            return [known]
        return [known[self.column]] if self.column in known else []


@dataclass(frozen=True, slots=True)
class Pick:
    """`kind` and `text` as written; `how` is the compiled selector."""

    kind: str
    text: str
    how: Selector | JsonPath | Regex | Fact
    of_page: bool = False
    """Whether it reads the page, also for an item of one of its elements."""
    decimal: str | None = None
    """The decimal sign of numbers, if the field names it."""

    def values(self, place: Place) -> list[Any]:
        match self.how, place:
            case JsonPath() as path, JsonData(value):
                return path.select(value)
            case Fact() as fact, JsonData(value):
                return fact.values(value)
            case Regex() as pattern, _:
                found = pattern.find(_text_of(place))
                return [] if found is None else [found]
            case ((JsonPath() | Fact()), _):
                return []
            case selector, (Document() | Node()):
                return selector.select(place)
        return []

    def first(self, place: Place) -> Any:
        return self.reader()(place)

    def reader(self) -> Callable[[Place], Any]:
        """Like `first`, but chooses the way of reading in advance."""
        if isinstance(self.how, JsonPath | Regex | Fact):
            return lambda place: next(iter(self.values(place)), None)
        first = self.how.first
        return lambda place: None if isinstance(place, JsonData) else first(place)

    def places(self, place: Place) -> Iterator[Place]:
        """The elements or objects themselves, for nested items and `each`."""
        match self.kind, place:
            case "css", (Document() | Node()):
                yield from place.css(self.text)
            case "xpath", (Document() | Node()):
                yield from place.xpath(self.text)
            case "jsonpath", JsonData():
                yield from (JsonData(value) for value in self.values(place))


def _text_of(place: Place) -> str:
    if isinstance(place, JsonData):
        return str(place.value)
    return Node(place.root).text if isinstance(place, Document) else place.text


def pick(kind: str, text: str, re: str | None = None) -> Pick:
    """Raises BadSelector."""
    if kind == "jsonpath":
        return Pick(kind, text, compile_jsonpath(text))
    if kind == "regex":
        return Pick(kind, text, compile_regex(text))
    selector: Selector = compile_css(text) if kind == "css" else compile_xpath(text)
    return Pick(kind, text, narrowed(selector, re) if re else selector)


def pick_by_spelling(text: str) -> Pick:
    """`$.a` is JSONPath, `//a` and `./a` are XPath, anything else is CSS."""
    kind = "jsonpath" if text.startswith("$") else "xpath" if text.startswith(("/", "./", "(")) else "css"
    return pick(kind, text)


class FieldArguments(TypedDict, total=False):
    """What every field takes besides its selector."""

    default: Any
    precision: tuple[int, int]
    decimal: str


def css(selector: str, *, re: str | None = None, **about: Unpack[FieldArguments]) -> Any:
    """The text of the first matching element, or its attribute with `::attr(name)`; for a list, of all of them.

    `re` reduces it to the first group (or all) of a regular expression. A value is required unless there is a
    default or the field's type allows None. `precision=(12, 2)` is for a Decimal: its column in Parquet has 12 digits,
    two of them after the point, and an item with another value is rejected. `decimal=","` is for numbers: it is their
    decimal sign.
    """
    return _field(pick("css", selector, re), about)


def xpath(selector: str, *, re: str | None = None, **about: Unpack[FieldArguments]) -> Any:
    """Like `css`, with XPath 1.0."""
    return _field(pick("xpath", selector, re), about)


def jsonpath(path: str, **about: Unpack[FieldArguments]) -> Any:
    """The first value of a JSON body at this path; for a list, all of them."""
    return _field(pick("jsonpath", path), about)


def regex(pattern: str, **about: Unpack[FieldArguments]) -> Any:
    """The first group (or all) of a regular expression in the visible text."""
    return _field(pick("regex", pattern), about)


def page_url(_: str, **about: Unpack[FieldArguments]) -> Any:
    """The URL of the page."""
    return _field(Pick("page", "url", Fact(None), of_page=True), about)


def input_column(column: str, **about: Unpack[FieldArguments]) -> Any:
    """A column of the row of the list that led to the page."""
    return _field(Pick("input", column, Fact(column), of_page=True), about)


def read_from_page(info: Any) -> Any:
    """The same field, read from the page even if its item is one of its elements."""
    info.metadata = [replace(part, of_page=True) if isinstance(part, Pick) else part for part in info.metadata]
    return info


def _field(picked: Pick, about: FieldArguments) -> Any:
    if unknown := about.keys() - FieldArguments.__annotations__.keys():
        known = ", ".join(FieldArguments.__annotations__)
        raise UsageError(f"a field has no argument {sorted(unknown)[0]!r}; besides its selector it takes re, {known}")
    decimal = about.get("decimal")
    if decimal not in (None, *DECIMAL_SIGNS):
        raise UsageError(f"decimal={decimal!r}: the decimal separator is '.' or ','")
    info: Any = Field(about.get("default", PydanticUndefined))
    info.metadata.append(replace(picked, decimal=decimal))
    if "precision" in about:
        info.metadata += precision_of(about["precision"])
    return info


def precision_of(digits: tuple[int, int]) -> tuple[Precision, AfterValidator]:
    """The precision for the field's type, and the check of each value."""
    try:
        precision = Precision(*digits)
    except (TypeError, ValueError) as error:
        raise UsageError(f"precision={digits!r}: {error}") from error

    def check(value: Any) -> Any:
        for number in value if isinstance(value, list | tuple | set) else (value,):
            if isinstance(number, Decimal) and not precision.holds(number):
                told = {"number": str(number), "precision": str(precision)}
                raise PydanticCustomError("precision", "{number} does not fit {precision}", told)
        return value

    return precision, AfterValidator(check)
