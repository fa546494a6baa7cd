"""Masks secrets anywhere in a text: passwords in URLs, parameters with names such as `token`, API tokens, and headers
that carry credentials."""

from __future__ import annotations

import re
from typing import Any

_SECRET_NAME = re.compile(r"password|passwd|secret|token|key(?!word)|signature", re.IGNORECASE)
_SECRETS = (
    # Greedy up to the last @ of the word, because some passwords contain one.
    (re.compile(r"(://[^:/?#\s]*:)\S*@"), r"\1***@"),
    (re.compile(r"([?&#][^=&\s]*(?:password|secret|token|key|signature)[^=&\s]*=)[^&\s'\"]*", re.IGNORECASE), r"\1***"),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), r"\1 ***"),
    (re.compile(r"\b((?:set-)?cookie2?|(?:proxy-)?authorization)(['\"]?\s*[:=]\s*).+", re.IGNORECASE), r"\1\2***"),
    (re.compile(r"\bshoal_[\w-]{16,}"), "shoal_***"),
)


def masked(text: str) -> str:
    for secret, instead in _SECRETS:
        text = secret.sub(instead, text)
    return text


def masked_values(value: Any) -> Any:
    """Masks every text in a JSON value."""
    match value:
        case str():
            return masked(value)
        case dict():
            return {name: masked_values(each) for name, each in value.items()}
        case list() | tuple():
            return [masked_values(each) for each in value]
    return value


def is_secret(name: str) -> bool:
    """Whether a value of this name is likely to be a secret."""
    return _SECRET_NAME.search(name) is not None
