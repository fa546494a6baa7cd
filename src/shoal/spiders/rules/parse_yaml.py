"""Parses YAML, and JSON as a subset, into values that know their position in the file.

Scalars follow YAML 1.2: `yes` and `2026-11-15` are text, `true` is not, and a key is always text. Tags and merge keys
are not allowed. Size, depth and the expansion of aliases are limited.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.error import Mark
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from shoal.errors import UsageError

MAX_CHARS = 256 * 1024
MAX_DEPTH = 40
MAX_VALUES = 20_000
_MAX_FAULTS = 50
_FAULT_CHARS = 1_000

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_TRUTH = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_STRING_OR_TAB = re.compile(r'"(?:[^"\\]|\\.)*"|\t', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class YamlValue:
    """A value and its position, counted from 1; the values of a mapping come with their keys."""

    value: bool | int | float | str | list[YamlValue] | dict[str, tuple[YamlValue, YamlValue]] | None
    line: int
    column: int
    verbatim_at: int | None = None
    """The column where its text starts, if the file has the text exactly as it is."""
    size: int = 1
    """How many values it expands to; `height` is the number of levels below it."""
    height: int = 0

    def get(self, key: str) -> YamlValue | None:
        """None also if this is not a mapping."""
        return self.value[key][1] if isinstance(self.value, dict) and key in self.value else None

    def pairs(self) -> list[tuple[YamlValue, YamlValue]]:
        return list(self.value.values()) if isinstance(self.value, dict) else []

    def parts(self) -> list[YamlValue]:
        return self.value if isinstance(self.value, list) else []

    def plain(self) -> Any:
        if isinstance(self.value, dict):
            return {key: value.plain() for key, (_, value) in self.value.items()}
        return [part.plain() for part in self.value] if isinstance(self.value, list) else self.value


@dataclass(slots=True)
class Faults:
    """The faults of one file, collected to report them all at once."""

    file: str
    _found: set[tuple[int, int, str]] = field(default_factory=set)

    def add(self, at: YamlValue, what: str, column_in_text: int | None = None) -> None:
        """`column_in_text` counts from 1 in the value's text; used if the file has that text exactly as it is."""
        column = at.column
        if column_in_text is not None and at.verbatim_at is not None:
            column = at.verbatim_at + column_in_text - 1
        self.add_at(at.line, column, what)

    def add_at(self, line: int, column: int, what: str) -> None:
        # Names and values come from the file: remove their line breaks and terminal escapes.
        safe = "".join(char if char.isprintable() else repr(char)[1:-1] for char in what[:_FAULT_CHARS])
        self._found.add((line, column, safe if len(what) <= _FAULT_CHARS else f"{safe}…"))

    def raise_if_any(self) -> None:
        if not self._found:
            return
        lines = [f"{self.file}:{line}:{column}: {what}" for line, column, what in sorted(self._found)]
        more = len(lines) - _MAX_FAULTS
        raise UsageError("\n".join([*lines[:_MAX_FAULTS], *([f"{self.file}: and {more:,} more"] if more > 0 else [])]))


def read(text: str, faults: Faults) -> YamlValue:
    """Raises UsageError if it cannot continue; adds other faults to `faults`."""
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_CHARS:
        faults.add_at(1, 1, f"the rules have {len(text):,} characters; at most {MAX_CHARS:,} are allowed")
    else:
        try:
            return _Reader(text, faults).document()
        except _Unreadable as error:
            faults.add_at(*error.place, error.what)
    faults.raise_if_any()
    raise AssertionError("a fault was just added")


class _Unreadable(Exception):
    def __init__(self, line: int, column: int, what: str) -> None:
        self.place = (line, column)
        self.what = what


class _Reader:
    def __init__(self, text: str, faults: Faults) -> None:
        # YAML allows no tabs between tokens, JSON does. A blank instead does not shift any column.
        is_json = text.lstrip()[:1] in ("{", "[")
        self._text = _STRING_OR_TAB.sub(_without_tab, text) if is_json else text
        self._faults = faults
        self._events = _events(self._text)
        self._anchors: dict[str, YamlValue] = {}

    def document(self) -> YamlValue:
        root: YamlValue | None = None
        for event in self._events:
            if isinstance(event, DocumentStartEvent) and root is not None:
                self._faults.add_at(*_place(event), "a second document starts here; rules are one document")
                break
            if isinstance(event, NodeEvent):
                root = self._value(event, 0)
        return root or YamlValue(None, 1, 1)

    def _value(self, event: Event, depth: int) -> YamlValue:
        if depth > MAX_DEPTH:
            raise _Unreadable(*_place(event), f"nested more than {MAX_DEPTH} deep")
        if isinstance(event, AliasEvent):
            return self._aliased(event, depth)
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._faults.add_at(*_place(event), f"the tag {tag!r} is not allowed; write a plain value")
        if isinstance(event, ScalarEvent):
            made = self._scalar(event)
        elif isinstance(event, SequenceStartEvent):
            made = self._list(event, depth)
        else:
            made = self._mapping(event, depth)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._anchors[anchor] = made
        return made

    def _aliased(self, event: AliasEvent, depth: int) -> YamlValue:
        # An anchor is known only when its value is complete, so that no value can contain itself.
        known = self._anchors.get(str(event.anchor))
        if known is None:
            raise _Unreadable(*_place(event), f"the alias *{event.anchor} has no anchor &{event.anchor} before it")
        if depth + known.height > MAX_DEPTH:
            raise _Unreadable(*_place(event), f"nested more than {MAX_DEPTH} deep, including the alias *{event.anchor}")
        return known

    def _scalar(self, event: ScalarEvent) -> YamlValue:
        text = _join_surrogates(event.value)
        line, column = _place(event)
        if event.implicit[0] and (value := _parse_scalar(text)) is not text:
            return YamlValue(value, line, column)
        raw = self._text[_mark(event).index : _mark(event, end=True).index]
        at = next((column + skip for skip in (0, 1) if raw[skip : len(raw) - skip] == text), None)
        return YamlValue(text, line, column, at)

    def _list(self, event: Event, depth: int) -> YamlValue:
        parts: list[YamlValue] = []
        size = 1
        while not isinstance(following := next(self._events), SequenceEndEvent):
            parts.append(self._value(following, depth + 1))
            size = self._grown(size, parts[-1], following)
        return YamlValue(parts, *_place(event), size=size, height=_height(parts))

    def _mapping(self, event: Event, depth: int) -> YamlValue:
        pairs: dict[str, tuple[YamlValue, YamlValue]] = {}
        size = 1
        assert isinstance(event, MappingStartEvent)
        while not isinstance(following := next(self._events), MappingEndEvent):
            key = self._key(following)
            value = self._value(next(self._events), depth + 1)
            size = self._grown(size, value, following)
            name = str(key.value)
            if name in pairs:
                first = pairs[name][0].line
                self._faults.add(key, f"the key {name!r} is used twice; the first is on line {first}")
            else:
                pairs[name] = key, value
        return YamlValue(pairs, *_place(event), size=size, height=_height([value for _, value in pairs.values()]))

    def _key(self, event: Event) -> YamlValue:
        if not isinstance(event, ScalarEvent):
            raise _Unreadable(*_place(event), "a key must be a single word or text")
        return YamlValue(_join_surrogates(event.value), *_place(event))

    def _grown(self, size: int, part: YamlValue, event: Event) -> int:
        if size + part.size > MAX_VALUES:
            raise _Unreadable(*_place(event), f"more than {MAX_VALUES:,} values, including those of aliases")
        return size + part.size


def _height(parts: list[YamlValue]) -> int:
    return 1 + max((part.height for part in parts), default=-1)


def _events(text: str) -> Iterator[Event]:
    line, column = 1, 1
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            line, column = _place(event)
            yield event
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        raise _Unreadable(line, column, f"the character {text[error.position]!r} is not allowed here") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = ", ".join(filter(None, (error.context, error.problem)))
        place = (mark.line + 1, mark.column + 1) if mark else (line, column)
        raise _Unreadable(*place, f"this is not YAML: {what}") from None
    except (ValueError, OverflowError) as error:
        # PyYAML does not catch what chr() and int() raise for escapes and directives such as "\UFFFFFFFF".
        raise _Unreadable(line, column, f"this is not YAML from here on: {error}") from None


def _without_tab(found: re.Match[str]) -> str:
    return " " if found[0] == "\t" else found[0]


def _place(event: Event) -> tuple[int, int]:
    return _mark(event).line + 1, _mark(event).column + 1


def _mark(event: Event, end: bool = False) -> Mark:
    mark = event.end_mark if end else event.start_mark
    assert isinstance(mark, Mark), "events that were read have marks"
    return mark


def _join_surrogates(text: str) -> str:
    """JSON writes a character beyond U+FFFF as two escapes, each half of a surrogate pair."""
    if _SURROGATE.search(text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _parse_scalar(text: str) -> bool | int | float | str | None:
    if text in _NULL:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text
