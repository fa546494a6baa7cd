"""The language that a page declares, as a country's domain: a hint for guessing the charset of a short text."""

from __future__ import annotations

import re

_WITHIN_BYTES = 4_096
_HTML_LANG = re.compile(
    rb"<html\b[^>]*?\s(?:xml:)?lang\s*+=\s*+[\"']?([a-z]{2})(?:[-_]([a-z]{2,8}))?(?![a-z])", re.IGNORECASE
)
_SAME = "bg hr hu lt lv mk pl ro ru sk th tr"
_OTHERS = "ar:sa be:by cs:cz el:gr et:ee fa:ir he:il ja:jp ko:kr sl:si sr:rs uk:ua vi:vn zh:cn"
_DOMAINS = {name: name for name in _SAME.split()} | dict(each.split(":") for each in _OTHERS.split())
"""Languages whose usual charsets are not windows-1252, which is guessed without a hint."""
_TRADITIONAL = frozenset(("tw", "hk", "mo", "hant"))


def language_domain(html: bytes) -> bytes | None:
    found = _HTML_LANG.search(html, 0, _WITHIN_BYTES)
    if found is None:
        return None
    language, place = (part.decode().lower() for part in found.groups(b""))
    domain = "tw" if language == "zh" and place in _TRADITIONAL else _DOMAINS.get(language)
    return domain.encode() if domain else None
