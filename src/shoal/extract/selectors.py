"""CSS, XPath and regular expressions that give strings, compiled once for each spelling.

A CSS selector gives an element's folded text, or with a last `::text` its own text without that of its children, with
`::attr(name)` an attribute (elements without it are passed over), with `::html` its markup. `div ::text`, with a space,
gives each text in the element, one by one and in page order, as in Scrapy; so does `::text` alone. XPath 1.0 gives
strings, attributes, numbers, truth values and the text of elements, all as strings. Each can be narrowed by a regular
expression, which gives its first group, or all it matched if it has none; texts without a match are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from shoal.extract.css_endings import split_ending
from shoal.extract.css_search import search
from shoal.extract.elements import Element, text_of_element
from shoal.extract.extract_errors import BadSelector

MAX_CHARS = 2_000
_KEPT = 4_096
"""How many compiled selectors are remembered."""
_LEAVES = re.compile(
    r"(?:\A|\|)[\s(]*(?:\.\s*/\s*(?!/))*(\.\.|(?:parent|ancestor|(?:following|preceding)(?:-sibling)?)\s*::)"
)
"""The first step of a path, or of a part of a union, if it leads out of the element that it begins with."""

_PAIRS = {")": "(", "]": "["}
_XPATH_TOKEN = re.compile(r""""[^"]*"|'[^']*'|(\$)|([A-Za-z_][\w.-]*+):(?![:\s])|([A-Za-z_][\w.-]*+)\s*+\(""")
_XPATH_WORDS = """
    boolean ceiling concat contains count false floor id lang last local-name name namespace-uri normalize-space not
    number position round starts-with string string-length substring substring-after substring-before sum translate
    true comment node processing-instruction text and or div mod
"""
_XPATH_CALLS = frozenset(_XPATH_WORDS.split())
"""The functions of XPath 1.0, and what else may stand before a parenthesis."""


class SelectorContext(Protocol):
    """A page, or an element of one."""

    @property
    def root(self) -> LexborNode: ...

    @property
    def element(self) -> Element: ...


class Selector(Protocol):
    def select(self, place: SelectorContext) -> list[str]: ...

    def first(self, place: SelectorContext) -> str | None: ...


class Regex:
    """RE2: linear in the text, so without look-around and backreferences."""

    __slots__ = ("_group", "_search", "text")

    def __init__(self, text: str) -> None:
        import re2

        options = re2.Options()
        options.log_errors = False
        try:
            compiled = re2.compile(_checked(text), options)
        except re2.error as error:
            why = error.args[0].decode(errors="replace")
            column = max(text.find(why.rpartition(": ")[2]), 0) + 1
            raise BadSelector(text, column, f"{why}; RE2 has no look-around and no backreferences") from None
        self.text = text
        self._search = compiled.search
        self._group = min(compiled.groups, 1)

    def find(self, text: str) -> str | None:
        found = self._search(text.encode("utf-8", "replace").decode())
        return found[self._group] if found else None


class Css:
    __slots__ = ("_ending", "query", "read", "read_all", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.query, self._ending = split_ending(_checked(text))
        _check_css(text, self.query)
        self.read = self._ending.reader()
        """From an element that matches to its text, attribute or markup; None if it has no such attribute."""
        self.read_all = self._ending.reader_of_many()

    def nodes(self, root: LexborNode) -> list[LexborNode]:
        found = search(self.query, root)
        # lexbor gives an element once for each part of `a, b` that it matches.
        return list({node.mem_id: node for node in found}.values()) if "," in self.query else found

    def select(self, place: SelectorContext) -> list[str]:
        if self._ending.is_inner:
            return list(self._ending.inner_values(self.nodes(place.root)))
        read = self.read
        return [text for node in self.nodes(place.root) if (text := read(node)) is not None]

    def first(self, place: SelectorContext) -> str | None:
        node = place.root.css_first(self.query)
        if node is None:
            return None
        text = self.read(node)
        if text is None:
            return next(iter(self.select(place)), None)
        return text


class XPath:
    __slots__ = ("_compiled", "text")

    def __init__(self, text: str) -> None:
        from lxml import etree  # type: ignore[import-untyped]

        self.text = text
        _check_xpath(_checked(text))
        _check_stays(text)
        try:
            self._compiled = etree.XPath(text, regexp=False)
            self._compiled(etree.Element("html"))
        except etree.XPathError as error:
            raise BadSelector(text, _column(text, error), str(error).lower()) from None
        except ValueError as error:
            # A control character.
            raise BadSelector(text, 1, str(error)) from None

    def evaluate(self, element: Element) -> Any:
        from lxml import etree

        try:
            return self._compiled(element)
        except etree.XPathError as error:
            # Such as a wrong number of arguments in a predicate that was never reached before.
            raise BadSelector(self.text, _column(self.text, error), str(error).lower()) from None

    def select(self, place: SelectorContext) -> list[str]:
        return list(self._strings(place))

    def first(self, place: SelectorContext) -> str | None:
        return next(self._strings(place), None)

    def _strings(self, place: SelectorContext) -> Iterator[str]:
        found = self.evaluate(place.element)
        return map(_string_of, found if isinstance(found, list) else [found])


class Narrowed:
    """A selector, then a regular expression over each text it gives."""

    __slots__ = ("_regex", "_selector")

    def __init__(self, selector: Selector, regex: Regex) -> None:
        self._selector = selector
        self._regex = regex

    def select(self, place: SelectorContext) -> list[str]:
        find = self._regex.find
        return [part for text in self._selector.select(place) if (part := find(text)) is not None]

    def first(self, place: SelectorContext) -> str | None:
        text = self._selector.first(place)
        part = None if text is None else self._regex.find(text)
        return next(iter(self.select(place)), None) if text is not None and part is None else part


@lru_cache(_KEPT)
def css(text: str) -> Css:
    """Raises BadSelector, as do the other three."""
    return Css(text)


@lru_cache(_KEPT)
def xpath(text: str) -> XPath:
    return XPath(text)


@lru_cache(_KEPT)
def regex(text: str) -> Regex:
    return Regex(text)


def narrowed(selector: Selector, pattern: str) -> Narrowed:
    return Narrowed(selector, regex(pattern))


def _check_stays(text: str) -> None:
    """An element is searched alone, so a step that leaves it would find nothing, and nobody would be told."""
    if found := _LEAVES.search(text):
        why = (
            f"{found[1]} leaves the element, and an element is searched without what is around it: select a larger "
            "element, or search from there, as in .//th/following::td"
        )
        raise BadSelector(text, found.start(1) + 1, why)


def _string_of(found: Any) -> str:
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, float):
        return str(int(found)) if found.is_integer() else str(found)
    return text_of_element(found) if hasattr(found, "tag") else str(found)


def _checked(text: str) -> str:
    if len(text) > MAX_CHARS:
        raise BadSelector(text[:40] + "…", MAX_CHARS, f"it has more than {MAX_CHARS:,} characters")
    for at, char in enumerate(text):
        if char == "\0" or "\ud800" <= char <= "\udfff":
            raise BadSelector(text, at + 1, "NUL and halves of surrogate pairs match nothing")
    return text


def _check_css(text: str, query: str) -> None:
    if not query.strip():
        raise BadSelector(text, 1, "it names no element; * stands for any")
    _check_closed(text, query)
    if _parses(query):
        return
    if "::" in query:
        raise BadSelector(
            text,
            query.index("::") + 1,
            "::text, ::attr(name) and ::html may stand at the very end, and in a list the same at the end of each "
            "part; no others exist",
        )
    readable = next((end for end in range(len(query) - 1, 0, -1) if _parses(query[:end])), 0)
    rest = query[readable:]
    raise BadSelector(text, readable + len(rest) - len(rest.lstrip()) + 1, "not CSS that can be read from here on")


def _check_closed(text: str, query: str) -> None:
    """lexbor closes at the end what was left open, which is seldom what was meant."""
    opened: list[tuple[str, int]] = []
    escaped = False
    for at, char in enumerate(query):
        inside = opened[-1][0] if opened else ""
        if escaped or char == "\\":
            escaped = not escaped
        elif inside in ("'", '"'):
            if char == inside:
                opened.pop()
        elif char in "'\"([":
            opened.append((char, at))
        elif char in _PAIRS and inside == _PAIRS[char]:
            opened.pop()
    if opened:
        raise BadSelector(text, opened[-1][1] + 1, f"{opened[-1][0]} is never closed")


def _parses(query: str) -> bool:
    try:
        _EMPTY_PAGE.css_first(query)
    except SelectolaxError:
        return False
    return True


_EMPTY_PAGE = LexborHTMLParser(b"")


def _check_xpath(text: str) -> None:
    """libxml2 finds unknown functions, variables and prefixes only when an element reaches them."""
    for token in _XPATH_TOKEN.finditer(text):
        variable, prefix, call = token.groups()
        if variable:
            raise BadSelector(text, token.start() + 1, "variables have no value here")
        if prefix:
            raise BadSelector(text, token.start() + 1, f"the prefix {prefix!r} is not known; HTML has none")
        if call and call not in _XPATH_CALLS:
            raise BadSelector(text, token.start() + 1, f"XPath 1.0 has no function {call}()")


def _column(text: str, error: Any) -> int:
    bytes_before = max((entry.column for entry in error.error_log), default=0)
    return len(text.encode()[:bytes_before].decode(errors="ignore")) + 1
