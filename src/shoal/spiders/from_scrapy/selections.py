"""Recognises chains such as `response.css("h1::text").get()` in a callback."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass, replace

from shoal.extract.extract_errors import BadSelector
from shoal.extract.selectors import css, regex, xpath
from shoal.spiders.from_scrapy.notes import Untranslatable

_SUFFIX = re.compile(r"::(text|attr\(\s*['\"]?([\w:-]+)['\"]?\s*\))\s*\Z")
_XPATH_SUFFIX = re.compile(r"(?<![/:])/(text\(\)|@([\w:-]+))\s*\Z")
_BLANKS = re.compile(r"\s+(?=,)")
_XPATH_FUNCTION = re.compile(r"\s*[a-z-]+\(.*\)\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Selection:
    """What `.css(...)` or `.xpath(...)` of a page or an element finds."""

    base: ast.expr
    """The page or the element, in the original."""
    kind: str
    """css or xpath"""
    text: str
    """The whole selector, as Shoal spells it."""
    pattern: str | None = None
    """Of `.re` or `.re_first`."""

    @property
    def elements(self) -> str:
        """The selector without `::text` or `::attr(x)`."""
        alone = (_SUFFIX if self.kind == "css" else _XPATH_SUFFIX).sub("", self.text).rstrip()
        if self.kind == "css" and "::" in alone:
            # Other parts of a list have endings, too. What cannot be read is left for `check`.
            with suppress(BadSelector):
                return _BLANKS.sub("", css(self.text).query)
        return alone

    @property
    def gives_text(self) -> bool:
        return self.elements != self.text

    @property
    def is_function(self) -> bool:
        """As in `normalize-space(//h1)`, which gives a text and no elements."""
        return self.kind == "xpath" and not self.gives_text and bool(_XPATH_FUNCTION.match(self.text))

    def check(self, node: ast.AST) -> None:
        """Raises Untranslatable if Shoal does not take the selector."""
        try:
            (css if self.kind == "css" else xpath)(self.text)
            if self.pattern is not None:
                regex(self.pattern)
        except BadSelector as error:
            raise Untranslatable(node, f"Shoal does not take this selector: {error}") from None

    @property
    def attribute(self) -> str | None:
        """The name, if it gives an attribute; else it gives text."""
        found = (_SUFFIX if self.kind == "css" else _XPATH_SUFFIX).search(self.text)
        return found[2] if found else None


@dataclass(frozen=True)
class Value:
    """What `.get()` and its like take from a selection."""

    selection: Selection
    many: bool
    default: ast.expr | None = None


def selection_in(node: ast.expr) -> Selection | None:
    match node:
        case ast.Call(func=ast.Attribute(value=base, attr=("css" | "xpath") as kind), args=[ast.Constant(str(text))]):
            if isinstance(base, ast.Attribute) and base.attr == "selector":
                base = base.value
            inner = selection_in(base)
            if inner is None:
                return Selection(base, kind, spelt(kind, text))
            if inner.kind == kind == "css" and not inner.gives_text and "," not in inner.text + text:
                return replace(inner, text=f"{inner.text} {spelt(kind, text)}")
            if inner.kind == kind == "xpath" and not inner.gives_text and text.startswith("./"):
                return replace(inner, text=inner.text + text[1:])
    return None


def value_in(node: ast.expr) -> Value | None:
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="strip"), args=[], keywords=[]):
            # Shoal's texts have no white space around them.
            found = value_in(inner)
            return found if found is not None and not found.many else None
        case ast.Call(func=ast.Attribute(value=chain, attr=method), args=args, keywords=keywords):
            return _taken(chain, method, args, keywords)
        case ast.Subscript(value=ast.Attribute(value=chain, attr="attrib"), slice=ast.Constant(str(name))):
            return _attribute(chain, name)
    return None


def _taken(chain: ast.expr, method: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Value | None:
    if method == "get" and isinstance(chain, ast.Attribute) and chain.attr == "attrib":
        match args:
            case [ast.Constant(str(name))] if not keywords:
                return _attribute(chain.value, name)
        return None
    found = selection_in(_without_first(chain))
    if found is None:
        return None
    named = {keyword.arg: keyword.value for keyword in keywords}
    match method:
        case "get" | "extract_first":
            return Value(found, False, named.get("default") or (args[0] if args else None))
        case "getall" | "extract":
            return Value(found, True)
        case "re_first" | "re":
            match args:
                case [ast.Constant(str(pattern)), *_] if not keywords:
                    return Value(replace(found, pattern=pattern), method == "re")
    return None


def _without_first(chain: ast.expr) -> ast.expr:
    """`[0].get()` is the first, or an exception."""
    is_first = isinstance(chain, ast.Subscript) and isinstance(chain.slice, ast.Constant) and chain.slice.value == 0
    return chain.value if is_first and isinstance(chain, ast.Subscript) else chain


def _attribute(chain: ast.expr, name: str) -> Value | None:
    found = selection_in(_without_first(chain))
    if found is None or found.gives_text:
        return None
    ending = f"::attr({name})" if found.kind == "css" else f"/@{name}"
    return Value(replace(found, text=found.text + ending), False)


def spelt(kind: str, text: str) -> str:
    """Scrapy allows quotes around the name of an attribute."""
    found = _SUFFIX.search(text) if kind == "css" else None
    if found is None:
        return text.strip()
    ending = f"::attr({found[2]})" if found[2] else "::text"
    return text[: found.start()] + ending
