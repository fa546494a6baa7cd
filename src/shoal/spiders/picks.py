"""Where a field's value comes from: `css()`, `xpath()`, `jsonpath()` or `regex()`, said in an Item's class.

Each returns what pydantic takes for a field, with the pick in its metadata; the selector is compiled at once, so that a
bad one fails where it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import Field
from pydantic_core import PydanticUndefined

from shoal.extract.document import Document, Node
from shoal.extract.jsonpath import JsonPath
from shoal.extract.jsonpath import jsonpath as compile_jsonpath
from shoal.extract.selectors import Regex, Selector, narrowed
from shoal.extract.selectors import css as compile_css
from shoal.extract.selectors import regex as compile_regex
from shoal.extract.selectors import xpath as compile_xpath


@dataclass(frozen=True, slots=True)
class Data:
    """A value out of a JSON body, as a place to pick from."""

    value: Any


Place = Document | Node | Data


@dataclass(frozen=True, slots=True)
class Pick:
    """`kind` and `text` as they were written; `how` is what they compile to."""

    kind: str
    text: str
    how: Selector | JsonPath | Regex

    def values(self, place: Place) -> list[Any]:
        match self.how, place:
            case JsonPath() as path, Data(value):
                return path.select(value)
            case Regex() as pattern, _:
                found = pattern.find(_text_of(place))
                return [] if found is None else [found]
            case JsonPath(), _:
                return []
            case selector, (Document() | Node()):
                return selector.select(place)
        return []

    def first(self, place: Place) -> Any:
        return self.reader()(place)

    def reader(self) -> Callable[[Place], Any]:
        """`first`, with what can be decided beforehand decided."""
        if isinstance(self.how, JsonPath | Regex):
            return lambda place: next(iter(self.values(place)), None)
        first = self.how.first
        return lambda place: None if isinstance(place, Data) else first(place)

    def places(self, place: Place) -> Iterator[Place]:
        """The elements or objects themselves, for nested items and `each`."""
        match self.kind, place:
            case "css", (Document() | Node()):
                yield from place.css(self.text)
            case "xpath", (Document() | Node()):
                yield from place.xpath(self.text)
            case "jsonpath", Data():
                yield from (Data(value) for value in self.values(place))


def _text_of(place: Place) -> str:
    if isinstance(place, Data):
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


def css(selector: str, *, re: str | None = None, default: Any = PydanticUndefined) -> Any:
    """The text of the first element that matches, or with `::attr(name)` its attribute; for a list, of all.

    `re` narrows it to the first group (or all) of a regular expression. Without a default a value is required,
    unless the field's type allows None.
    """
    return _field(pick("css", selector, re), default)


def xpath(selector: str, *, re: str | None = None, default: Any = PydanticUndefined) -> Any:
    """As `css`, by XPath 1.0."""
    return _field(pick("xpath", selector, re), default)


def jsonpath(path: str, *, default: Any = PydanticUndefined) -> Any:
    """The first value of a JSON body that the path leads to; for a list, all."""
    return _field(pick("jsonpath", path), default)


def regex(pattern: str, *, default: Any = PydanticUndefined) -> Any:
    """The first group (or all) of a regular expression over the visible text."""
    return _field(pick("regex", pattern), default)


def _field(picked: Pick, default: Any) -> Any:
    info = Field(default)
    info.metadata.append(picked)
    return info
