"""Makes text storable: every database and every reader accepts it, because it has no lone surrogates and no NUL."""

from __future__ import annotations

import json
from typing import Any

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str) -> str:
    if not text.isascii():
        # UTF-16 joins surrogate halves that came in separately; a half that stays alone is replaced.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", _REPLACEMENT)


def storable_row(values: tuple[Any, ...]) -> tuple[Any, ...]:
    texts = "".join([value for value in values if type(value) is str])
    if texts.isascii() and "\0" not in texts:
        return values
    return tuple([storable(value) if type(value) is str else value for value in values])


def json_text(value: Any) -> str:
    """JSON that every reader accepts: no lone surrogates, no NUL, no NaN."""
    # 1.6 us instead of 4.6 with the standard library, and any process with items has imported pydantic already.
    from pydantic_core import to_json

    try:
        text = to_json(value, inf_nan_mode="null").decode()
    except ValueError:
        text = to_json(_plain(value), inf_nan_mode="null").decode()
    return storable_json(text)


def storable_json(text: str) -> str:
    """Returns the text unchanged, or without NUL if it has any."""
    if "\\u0000" not in text:
        return text
    return json.dumps(_plain(json.loads(text)), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """The same value with all its text storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {storable(name): _plain(one) for name, one in value.items()}
    return value
