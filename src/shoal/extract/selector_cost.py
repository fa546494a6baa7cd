"""An upper bound for the time that a selector may take on a page, without running it.

lexbor and libxml2 match most selectors in one pass over the page. Some they match by trying every sibling or every
ancestor again: `i ~ p ~ p` or `//p/following-sibling::p` on 6 KB of paragraphs takes them half a second, and nothing
can interrupt them. So each selector has a growth: how its steps multiply with the number of elements and with the
depth of the page. The bounds are coarse on purpose. What they call cheap is cheap on every page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from selectolax.lexbor import LexborNode

_KEPT = 4_096
_STEP_S = 5e-9
"""The measured time of one step in lexbor. A step in libxml2 takes up to four times as long."""
_XPATH_WEIGHT = 4
_VISIT_S = 3e-7
"""The time to visit an element from Python for its text."""

_CSS_QUOTED = re.compile(r"""\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
_CSS_ATTRIBUTE = re.compile(r"\[[^\]]*\]")
_CSS_ENDING = re.compile(r"::\w+(?:\([^()]*\))?")
"""Each part of a list may have one."""
_CSS_NTH = re.compile(r":nth-[a-z-]+\([^()]*\)", re.IGNORECASE)
_CSS_PSEUDO = re.compile(r":([a-z-]+)", re.IGNORECASE)
_CSS_LINEAR_WORDS = "any-link checked disabled empty enabled first-child is last-child link not only-child root where"
_CSS_LINEAR = frozenset(_CSS_LINEAR_WORDS.split())
_CSS_COMBINATOR = re.compile(r"\s*([>+~,()])\s*|\s+")
_XPATH_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")
_XPATH_TOKEN = re.compile(r"//|\.\.|([a-z-]+)\s*::|([a-z-]+)\s*\(|[\[|.]")
_XPATH_START = re.compile(r"[\s(]*\.?//")
_XPATH_CHEAP_AXES = frozenset(("attribute", "child", "self"))
_XPATH_SIBLING_AXES = frozenset(("following", "following-sibling", "preceding", "preceding-sibling"))
_XPATH_NODE_TESTS = frozenset(("comment", "node", "text"))


@dataclass(frozen=True, slots=True)
class Growth:
    """Steps: weight x elements ^ (1 + `by_elements`) x depth ^ `by_depth`."""

    by_elements: int = 0
    by_depth: int = 0
    weight: int = 1

    def seconds(self, elements: int, depth: int) -> float:
        return float(_STEP_S * self.weight * elements ** (1 + self.by_elements) * depth**self.by_depth)

    def within(self, levels: int) -> Growth:
        """Run on elements that lie within each other: on each element of the page as often as the page is deep."""
        return Growth(self.by_elements, self.by_depth + levels, self.weight)


def visit_seconds(elements: int, depth: int, levels: int) -> float:
    """The time to read the text of all elements that one selector finds."""
    return float(_VISIT_S * elements * depth**levels)


def growth_of(kind: str, text: str) -> Growth:
    """`kind` is css, xpath, jsonpath or regex."""
    if kind == "css":
        return css_growth(text)
    if kind == "xpath":
        return xpath_growth(text)
    if kind == "jsonpath":
        # A path looks at each value once. A second `..`, and a `$` or `..` in a filter, may look at all values again
        # for each of them. Those in quotes are counted too.
        return Growth(max(0, text.count("..") - 1) + text.count("$", 1), 0, weight=100)
    return Growth()


@lru_cache(_KEPT)
def css_growth(query: str) -> Growth:
    plain = _CSS_ENDING.sub("", _CSS_ATTRIBUTE.sub("", _CSS_QUOTED.sub("", query)))
    # A comma within parentheses is left to its part, which is then thought dearer than it is.
    parts = [_css_part(part) for part in (plain.split(",") if "(" not in plain else [plain])]
    return Growth(max(part.by_elements for part in parts), max(part.by_depth for part in parts), 1 + plain.count(","))


def _css_part(part: str) -> Growth:
    plain, by_elements = _CSS_NTH.subn("", part)
    by_depth = 0
    for pseudo in _CSS_PSEUDO.findall(plain):
        if pseudo.lower() in ("has", "lexbor-contains"):
            by_depth += 1
        elif pseudo.lower() not in _CSS_LINEAR:
            by_elements += 1
    for combinator in _CSS_COMBINATOR.findall(plain.strip()):
        by_elements += combinator == "~"
        by_depth += combinator == ""
    return Growth(by_elements, by_depth)


@lru_cache(_KEPT)
def xpath_growth(text: str) -> Growth:
    plain = _XPATH_QUOTED.sub("", text)
    # The first `//` is the one pass over the page.
    begins = _XPATH_START.match(plain)
    by_elements, by_depth, calls = 0, 0, 0
    for token, axis, call in _tokens(plain[begins.end() if begins else 0 :]):
        if axis:
            by_elements += 2 if axis in _XPATH_SIBLING_AXES else axis not in _XPATH_CHEAP_AXES
        elif call:
            calls += call not in _XPATH_NODE_TESTS
            by_elements += call == "translate"
        elif token in ("//", "..", "|"):
            by_elements += 1
        elif token == "[":
            by_depth += 1
    # A function may take the text of all that lies within an element.
    return Growth(by_elements, min(by_depth, 1) if by_elements == 0 else by_depth, _XPATH_WEIGHT * (1 + calls))


def _tokens(text: str) -> Iterator[tuple[str, str, str]]:
    for found in _XPATH_TOKEN.finditer(text):
        yield found[0], found[1] or "", found[2] or ""


def is_deeper(root: LexborNode, depth: int) -> bool:
    """Whether the page is nested this deeply. lexbor finds out in one pass."""
    return root.css_first("*" + " > *" * depth) is not None
