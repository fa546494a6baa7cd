"""Rewrites the URLs in CSS: those of url() and of @import."""

from __future__ import annotations

import re
from collections.abc import Callable

Rewrite = Callable[[str], str]
"""Takes a URL as written and returns the one to write."""

# Possessive: a hostile stylesheet must not make it try the same text in many ways.
_CSS_URL = re.compile(
    r"""/\*(?:.*?\*/|.*)
    | (?P<before>@import\s++)(?P<imported>"[^"\n]*"|'[^'\n]*')
    | (?P<url>url\()\s*+(?P<inside>"[^"\n]*"|'[^'\n]*'|(?:[^"'()\s\\]|\\[0-9a-f]{1,6}\s?|\\.)*+)\s*+\)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_ESCAPED = re.compile(r"\\([0-9a-fA-F]{1,6}\s?|.)", re.DOTALL)
_CHARSET = re.compile(r'\A\ufeff?@charset\s+"[^"]*";', re.IGNORECASE)


def rewrite_css(text: str, rewrite: Rewrite) -> str:
    """Comments stay as they are. The result is for UTF-8."""

    def replaced(found: re.Match[str]) -> str:
        quoted = found["imported"] or found["inside"]
        if quoted is None or not quoted.strip("\"'"):
            return found[0]
        link = _ESCAPED.sub(_unescaped, quoted.strip("\"'"))
        new = rewrite(link)
        if new == link:
            return found[0]
        safe = new.replace("\\", "%5C").replace('"', "%22").replace("\n", "%0A")
        return f'{found["before"]}"{safe}"' if found["imported"] else f'url("{safe}")'

    return _CHARSET.sub('@charset "utf-8";', _CSS_URL.sub(replaced, text))


def _unescaped(found: re.Match[str]) -> str:
    code = found[1].strip()
    if not re.fullmatch("[0-9a-fA-F]{1,6}", code):
        return found[1]
    number = int(code, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
