"""Parses a JSONPath (RFC 9535) and compiles it to a query. A mistake is refused with its column."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

from shoal.extract.extract_errors import BadSelector
from shoal.extract.jsonpath import (
    NOTHING,
    Query,
    Selector,
    all_children,
    by_filter,
    by_index,
    by_name,
    by_slice,
    children_by,
    descendants_by,
    equal,
    less,
    query,
)
from shoal.extract.jsonpath_functions import FUNCTIONS, Type
from shoal.extract.parse_json import Json
from shoal.wording import plural

MAX_SEGMENTS = 50
MAX_NESTING = 20
"""Of filters, parentheses and function calls within each other."""
MAX_DESCENTS = 2
"""Each `..` may visit all values that the one before it has found."""
MAX_INTEGER = 2**53 - 1

Evaluate = Callable[[Json, Json], Any]
"""From the current value, and the root of the document."""

_BLANK = re.compile(r"[ \t\n\r]*")
_NAME = re.compile(r"[A-Za-z_\x80-\ud7ff\ue000-\U0010ffff][-\w\x80-\ud7ff\ue000-\U0010ffff]*")
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"(?:-?0|-?[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,4})?")
_FUNCTION = re.compile(r"[a-z][a-z_0-9]*(?=\()")
_WORD = re.compile(r"(?:true|false|null)(?![-\w])")
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>")
_PLAIN = re.compile(r"[^\\'\"\x00-\x1f\ud800-\udfff]+")
_UNICODE = re.compile(r"u([0-9A-Fa-f]{4})")
_LOW_SURROGATE = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\"}
_COMPARE: dict[str, Callable[[Json, Json], bool]] = {
    "==": equal,
    "!=": lambda one, other: not equal(one, other),
    "<": less,
    "<=": lambda one, other: less(one, other) or equal(one, other),
    ">": lambda one, other: less(other, one),
    ">=": lambda one, other: less(other, one) or equal(one, other),
}


class _Operand(NamedTuple):
    """A part of a filter: a literal, a query or a function call."""

    type: Type
    evaluate: Evaluate
    at: int
    """Where it begins."""
    is_singular: bool = True
    """Of a query: whether it finds one value at most."""
    is_literal: bool = False

    def value(self, parser: Parser) -> Evaluate:
        """Its one value. Refuses an operand that may have more."""
        if self.type is Type.VALUE:
            return self.evaluate
        if self.type is Type.NODES and self.is_singular:
            found = self.evaluate
            return lambda current, root: next(iter(found(current, root)), NOTHING)
        what = "true or false" if self.type is Type.LOGICAL else "a query that may find several values"
        parser.fail(f"a comparison and a function need one value, not {what}", self.at)

    def test(self, parser: Parser) -> Evaluate:
        """Whether it finds anything, or is true. Refuses a value, which is neither."""
        if self.type is Type.VALUE:
            parser.fail("compare this value with another, as in `length(@.a) > 1`", self.at)
        evaluate = self.evaluate
        return lambda current, root: bool(evaluate(current, root))


def parse(text: str) -> Query:
    """Raises BadSelector."""
    return Parser(text).path()


class Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._descents = 0
        self._nesting = 0

    def path(self) -> Query:
        self._take("$", "a path begins with $")
        segments, _ = self._segments()
        if self._at < len(self._text):
            self.fail("a step begins with . or [")
        return query(segments, from_root=True)

    def _segments(self) -> tuple[list[Selector], bool]:
        """The steps, and whether together they find one value at most."""
        segments: list[Selector] = []
        is_singular = True
        while True:
            before = self._at
            self._blank()
            if not self._next_is(".", "["):
                self._at = before
                return segments, is_singular
            segment, singular = self._segment()
            segments.append(segment)
            is_singular = is_singular and singular
            if len(segments) > MAX_SEGMENTS:
                self.fail(f"a path has at most {MAX_SEGMENTS} steps", before)

    def _segment(self) -> tuple[Selector, bool]:
        start = self._at
        if self._skip(".."):
            self._descents += 1
            if self._descents > MAX_DESCENTS:
                self.fail(f"a path may have .. {MAX_DESCENTS} times", start)
            selector, _ = self._bracketed() if self._next_is("[") else self._dotted()
            return descendants_by(selector), False
        return self._dotted() if self._skip(".") else self._bracketed()

    def _dotted(self) -> tuple[Selector, bool]:
        if self._skip("*"):
            return all_children, False
        return by_name(self._match(_NAME, "expected a name or *")[0]), True

    def _bracketed(self) -> tuple[Selector, bool]:
        self._take("[", "expected [")
        selectors: list[Selector] = []
        is_singular = True
        while True:
            self._blank()
            selector, singular = self._selector()
            selectors.append(selector)
            is_singular = is_singular and singular and len(selectors) == 1
            self._blank()
            if self._skip("]"):
                return children_by(selectors), is_singular
            self._take(",", "expected ] or a comma")

    def _selector(self) -> tuple[Selector, bool]:
        if self._skip("?"):
            return self._filter(), False
        if self._skip("*"):
            return all_children, False
        if self._next_is("'", '"'):
            return by_name(self._quoted()), True
        start_at, start = self._at, self._integer()
        after = self._at
        self._blank()
        if self._skip(":"):
            return self._slice(start), False
        self._at = after
        if start is None:
            self.fail("expected a name in quotes, a number, a slice, a filter or *", start_at)
        return by_index(start), True

    def _slice(self, start: int | None) -> Selector:
        self._blank()
        stop = self._integer()
        before = self._at
        self._blank()
        if not self._skip(":"):
            self._at = before
            return by_slice(start, stop, None)
        self._blank()
        return by_slice(start, stop, self._integer())

    def _integer(self) -> int | None:
        at = self._at
        found = self._matched(_INTEGER)
        if found is None:
            return None
        # Without this, 01 would be 0, followed by something unexpected.
        if len(found[0]) > 17 or abs(int(found[0])) > MAX_INTEGER or self._text[self._at : self._at + 1].isdigit():
            self.fail("expected an integer without leading zeros, up to 2**53 - 1", at)
        return int(found[0])

    def _filter(self) -> Selector:
        self._blank()
        return by_filter(self._or())

    def _or(self) -> Evaluate:
        self._nest(1)
        tests = [self._and()]
        while self._skip_after_blank("||"):
            self._blank()
            tests.append(self._and())
        self._nest(-1)
        return tests[0] if len(tests) == 1 else lambda current, root: any(test(current, root) for test in tests)

    def _and(self) -> Evaluate:
        tests = [self._basic()]
        while self._skip_after_blank("&&"):
            self._blank()
            tests.append(self._basic())
        return tests[0] if len(tests) == 1 else lambda current, root: all(test(current, root) for test in tests)

    def _basic(self) -> Evaluate:
        if self._skip("!"):
            self._blank()
            test = self._in_parentheses() if self._skip("(") else self._operand().test(self)
            return lambda current, root: not test(current, root)
        if self._skip("("):
            return self._in_parentheses()
        left = self._operand()
        before = self._at
        self._blank()
        sign = self._matched(_OPERATOR)
        if sign is None:
            self._at = before
            if left.is_literal:
                self.fail("compare this literal with something", left.at)
            return left.test(self)
        self._blank()
        one, other, compare = left.value(self), self._operand().value(self), _COMPARE[sign[0]]
        return lambda current, root: compare(one(current, root), other(current, root))

    def _in_parentheses(self) -> Evaluate:
        self._blank()
        test = self._or()
        self._blank()
        self._take(")", "expected )")
        return test

    def _operand(self) -> _Operand:
        at = self._at
        if self._next_is("@", "$"):
            from_root = self._text[at] == "$"
            self._at += 1
            segments, is_singular = self._segments()
            return _Operand(Type.NODES, query(segments, from_root), at, is_singular)
        if name := self._matched(_FUNCTION):
            return self._call(name[0], at)
        value = self._literal()
        return _Operand(Type.VALUE, lambda current, root: value, at, is_literal=True)

    def _call(self, name: str, at: int) -> _Operand:
        if name not in FUNCTIONS:
            self.fail(f"there is no function {name}; there are {', '.join(FUNCTIONS)}", at)
        function = FUNCTIONS[name]
        self._nest(1)
        self._take("(", "")
        arguments: list[Evaluate] = []
        self._blank()
        while not self._skip(")"):
            if arguments:
                self._take(",", "expected ) or a comma")
                self._blank()
            if len(arguments) == len(function.parameters):
                self.fail(f"{name} takes {plural(len(function.parameters), 'argument')}, not more")
            arguments.append(self._argument(function.parameters[len(arguments)]))
            self._blank()
        if len(arguments) < len(function.parameters):
            self.fail(f"{name} takes {plural(len(function.parameters), 'argument')}, not {len(arguments)}", at)
        self._nest(-1)
        call = function.call
        return _Operand(function.result, lambda current, root: call(*(value(current, root) for value in arguments)), at)

    def _argument(self, wanted: Type) -> Evaluate:
        operand = self._operand()
        if wanted is Type.VALUE:
            return operand.value(self)
        if operand.type is not Type.NODES:
            self.fail("this argument must be a query, as in @.a[*]", operand.at)
        return operand.evaluate

    def _literal(self) -> Json:
        if word := self._matched(_WORD):
            return _WORDS[word[0]]
        if number := self._matched(_NUMBER):
            return Decimal(number[0])
        if not self._next_is("'", '"'):
            self.fail("expected @, $, a function, a text in quotes, a number, true, false or null")
        return self._quoted()

    def _quoted(self) -> str:
        opened, quote = self._at, self._text[self._at]
        self._at += 1
        parts: list[str] = []
        while not self._skip(quote):
            if plain := self._matched(_PLAIN):
                parts.append(plain[0])
            elif self._skip("\\"):
                parts.append(self._escape(quote))
            elif self._next_is("'", '"'):
                parts.append(self._text[self._at])
                self._at += 1
            elif self._at >= len(self._text):
                self.fail("this quote is never closed", opened)
            else:
                self.fail("write this control character as an escape, such as \\n or \\u000a")
        return "".join(parts)

    def _escape(self, quote: str) -> str:
        if found := self._matched(_UNICODE):
            return self._character(int(found[1], 16))
        escaped = self._text[self._at : self._at + 1]
        if escaped != quote and escaped not in _ESCAPES:
            self.fail(f"there is no escape \\{escaped}; there are \\b \\f \\n \\r \\t \\/ \\\\ \\{quote} \\uXXXX")
        self._at += 1
        return _ESCAPES.get(escaped, escaped)

    def _character(self, code: int) -> str:
        if 0xDC00 <= code < 0xE000:
            self.fail("this is the second half of a surrogate pair, without the first", self._at - 6)
        if not 0xD800 <= code < 0xDC00:
            return chr(code)
        low = self._match(_LOW_SURROGATE, "expected the second half of a surrogate pair, \\uDC00 to \\uDFFF")
        return chr(0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00)

    def _nest(self, by: int) -> None:
        self._nesting += by
        if self._nesting > MAX_NESTING:
            self.fail(f"filters, parentheses and functions may be nested {MAX_NESTING} deep")

    def _blank(self) -> None:
        self._matched(_BLANK)

    def _next_is(self, *characters: str) -> bool:
        return self._text[self._at : self._at + 1] in characters

    def _skip(self, text: str) -> bool:
        there = self._text.startswith(text, self._at)
        self._at += len(text) * there
        return there

    def _skip_after_blank(self, text: str) -> bool:
        before = self._at
        self._blank()
        if self._skip(text):
            return True
        self._at = before
        return False

    def _take(self, text: str, otherwise: str) -> None:
        if not self._skip(text):
            self.fail(otherwise)

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found

    def _match(self, pattern: re.Pattern[str], otherwise: str) -> re.Match[str]:
        return self._matched(pattern) or self.fail(otherwise)

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        raise BadSelector(self._text, (self._at if at is None else at) + 1, why)
