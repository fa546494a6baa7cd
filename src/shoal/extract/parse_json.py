"""Parses JSON from a site, completely or not at all, up to a limit of nesting."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from shoal.extract.extract_errors import BadJson

MAX_DEPTH = 200

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# A pair, a half, or any other escape, of which `\\` must be taken whole lest its second half begin an escape.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)

Json = Any
"""dict, list, str, int, Decimal (fractions, exactly as written) or float, bool or None."""


def parsed_json(text: str | bytes, fractions: Callable[[str], Json] = Decimal) -> Json:
    """`fractions` converts the text of a number that is not an integer. Raises BadJson."""
    try:
        spelt = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
        decoder = json.JSONDecoder(parse_float=fractions, parse_constant=_refuse, strict=False)
        value = decoder.decode(_ESCAPE.sub(_whole, spelt) if _SURROGATE.search(spelt) else spelt)
    except RecursionError:
        raise BadJson(f"it is nested more than {MAX_DEPTH} deep") from None
    except ValueError as error:
        raise BadJson(f"it is no JSON: {error}") from None
    if _is_deeper(value, MAX_DEPTH):
        raise BadJson(f"it is nested more than {MAX_DEPTH} deep")
    return value


def _whole(escape: re.Match[str]) -> str:
    return r"\ufffd" if escape[1] else escape[0]


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _is_deeper(value: Json, depth: int) -> bool:
    level = [value]
    for _ in range(depth + 1):
        inner: list[Json] = []
        for each in level:
            if isinstance(each, dict):
                inner.extend(child for child in each.values() if isinstance(child, dict | list))
            elif isinstance(each, list):
                inner.extend(child for child in each if isinstance(child, dict | list))
        if not inner:
            return False
        level = inner
    return True
