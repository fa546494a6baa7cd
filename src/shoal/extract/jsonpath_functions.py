"""The functions of JSONPath filters: length, count, match, search and value (RFC 9535, 2.4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from shoal.extract.jsonpath import NOTHING
from shoal.extract.parse_json import Json

MAX_REGEX_CHARS = 1_000


class Type(Enum):
    VALUE = "a value"
    LOGICAL = "true or false"
    NODES = "a query"


class Function(NamedTuple):
    parameters: tuple[Type, ...]
    result: Type
    call: Callable[..., Any]


def _length(value: Json) -> Json:
    return len(value) if isinstance(value, str | list | dict) else NOTHING


def _value(found: list[Json]) -> Json:
    return found[0] if len(found) == 1 else NOTHING


def _match(text: Json, pattern: Json) -> bool:
    compiled = _compiled(pattern) if isinstance(text, str) else None
    return compiled is not None and compiled.fullmatch(text) is not None


def _search(text: Json, pattern: Json) -> bool:
    compiled = _compiled(pattern) if isinstance(text, str) else None
    return compiled is not None and compiled.search(text) is not None


def _compiled(pattern: Json) -> Any:
    return _compile(pattern) if isinstance(pattern, str) and len(pattern) <= MAX_REGEX_CHARS else None


# A dot, unless it is escaped or in a class.
_DOT = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(\.)", re.DOTALL)


@lru_cache(256)
def _compile(pattern: str) -> Any:
    """None if it is not a regular expression, which matches nothing. RE2 takes linear time."""
    # Imported here: few paths have a regular expression.
    import re2

    options = re2.Options()
    options.log_errors = False
    # In I-Regexp (RFC 9485) a dot matches neither of the two line ends.
    translated = _DOT.sub(lambda found: r"[^\n\r]" if found[1] else found[0], pattern)
    try:
        return re2.compile(translated, options)
    except re2.error:
        return None


FUNCTIONS = {
    "length": Function((Type.VALUE,), Type.VALUE, _length),
    "count": Function((Type.NODES,), Type.VALUE, len),
    "match": Function((Type.VALUE, Type.VALUE), Type.LOGICAL, _match),
    "search": Function((Type.VALUE, Type.VALUE), Type.LOGICAL, _search),
    "value": Function((Type.NODES,), Type.VALUE, _value),
}
