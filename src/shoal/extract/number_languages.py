"""Languages that write a decimal comma, and group digits with points or spaces, as in CLDR."""

from __future__ import annotations

import re

_WITH_COMMA = re.compile(
    r"az|be|bg|bs|ca|cs|da|de|el|es|et|eu|fi|fo|fr|gl|hr|hu|hy|id|is|it|ka|kk|lt|lv|mk|nb|nl|nn|no|pl|pt|ro|ru|sk|sl|sq"
    r"|sr|sv|tr|uk|uz|vi"
)
_WITH_POINT = re.compile(r"(?:de|fr|it)-ch|de-li|es-(?:mx|us|pr|gt|hn|ni|pa|pe|sv|do|cu|419)")
"""Places that write a decimal point although their language elsewhere does not."""
_TAG = re.compile(r"([a-z]{2})(?:[-_][a-z]{4})?(?:[-_]([a-z]{2}|[0-9]{3}))?(?![a-z])", re.IGNORECASE)
_HTML_LANG = re.compile(rb"<html\b[^>]*?\s(?:xml:)?lang\s*=\s*[\"']?([A-Za-z0-9_-]{2,20})", re.IGNORECASE)
_WITHIN_BYTES = 4_096


def decimal_sign(language: str) -> str | None:
    """A comma, if a language tag (`de`, `pt-BR`) stands for it. None: the usual rules apply."""
    tag = _TAG.match(language.strip())
    if tag is None or not _WITH_COMMA.fullmatch(tag[1].lower()):
        return None
    return None if _WITH_POINT.fullmatch(f"{tag[1]}-{tag[2]}".lower()) else ","


def declared_language(html: bytes, content_language: str) -> str:
    """What a page declares in its <html> element, or else in the header. A header with several languages names none."""
    found = _HTML_LANG.search(html, 0, _WITHIN_BYTES)
    if found:
        return found[1].decode("ascii")
    return "" if "," in content_language else content_language
