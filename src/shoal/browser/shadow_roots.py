"""Makes the content of shadow roots visible to selectors.

The browser writes a shadow root as `<template shadowrootmode="open">`. Parsers put the content of a template apart,
where no selector finds it. So those templates become elements of their own: `<shadow-root>`.
"""

from __future__ import annotations

import re

_MARK = "shadowrootmode"
_TOKEN = re.compile(
    r"<!--.*?-->"
    r"|<(script|style|textarea|title|iframe|noscript)\b[^>]*>.*?</\1\s*>"
    r"|<template(?P<attributes>(?:\s+[^\s=>]+(?:=\"[^\"]*\")?)*)\s*>"
    r"|(?P<end></template>)",
    re.DOTALL | re.IGNORECASE,
)


def flatten_shadow_roots(html: str) -> str:
    if _MARK not in html:
        return html
    is_shadow: list[bool] = []

    def replaced(token: re.Match[str]) -> str:
        if token["end"]:
            return "</shadow-root>" if is_shadow and is_shadow.pop() else token[0]
        if token["attributes"] is None:
            return token[0]
        is_shadow.append(_MARK in token["attributes"])
        return "<shadow-root>" if is_shadow[-1] else token[0]

    return _TOKEN.sub(replaced, html)
