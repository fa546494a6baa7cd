"""JSON from a site: read whole or refused, never more than the text allows."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NoReturn

from shoal.extract.faults import BadJson

MAX_DEPTH = 200

Json = Any
"""dict, list, str, int, Decimal (fractions, exactly as written), bool or None."""


def parsed_json(text: str | bytes) -> Json:
    """Raises BadJson."""
    try:
        value = _DECODER.decode(text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff"))
    except RecursionError:
        raise BadJson(f"it is nested more than {MAX_DEPTH} deep") from None
    except ValueError as error:
        raise BadJson(f"it is no JSON: {error}") from None
    if _is_deeper(value, MAX_DEPTH):
        raise BadJson(f"it is nested more than {MAX_DEPTH} deep")
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse, strict=False)


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
