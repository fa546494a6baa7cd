"""Converts the bytes of a page to UTF-8. Never raises.

The order is that of browsers: byte order mark, the charset in the header, the page's own declaration. Then, where
browsers guess: UTF-16 by its zero bytes, valid UTF-8, and Firefox's guess from a sample. Undecodable bytes and NUL
become U+FFFD, so that every store and export accepts the result.
"""

from __future__ import annotations

import codecs
import re

from shoal.fetch.charset_declaration import PRESCAN_BYTES, declared_codec
from shoal.fetch.charset_labels import codec_of_label
from shoal.fetch.language_domain import language_domain

_HEAD_BYTES = 64 * 1024
_SAMPLE_BYTES = 16 * 1024
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_TELLING = re.compile(rb"[\x80-\xff\x1b]")


def to_utf8(body: bytes, content_type: str) -> bytes:
    """Valid UTF-8 without byte order mark or NUL. Returns the body itself if it already is that."""
    if _plain_ascii(body):
        return body
    codec, bom = charset(body, content_type)
    if codec == "utf-8" and not bom and b"\0" not in body and _is_utf8(body):
        return body
    return _decoded(body[bom:], codec).encode()


def charset(body: bytes, content_type: str) -> tuple[str, int]:
    """The Python codec for the body, and the length of its byte order mark."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return codec, len(mark)
    return _by_header(content_type) or declared_codec(body) or _by_content(body), 0


def _plain_ascii(body: bytes) -> bool:
    # ISO-2022-JP hides its text behind ESC, and UTF-16 has zero bytes. All other charsets read ASCII the same.
    return body.isascii() and b"\0" not in body and b"\x1b" not in body


def _by_header(content_type: str) -> str | None:
    found = _HEADER.search(content_type)
    return codec_of_label(found[1]) if found else None


def _by_content(body: bytes) -> str:
    if codec := _by_zero_bytes(body[:PRESCAN_BYTES]):
        return codec
    if not _is_utf8(body):
        # A browser that finds a later declaration parses the page again.
        return declared_codec(body, within=_HEAD_BYTES) or _guess(body)
    # ISO-2022-JP is ASCII to other charsets, with escapes.
    return _guess(body) if b"\x1b$" in body and body.isascii() else "utf-8"


def _by_zero_bytes(start: bytes) -> str | None:
    """UTF-16 of mostly western text has a zero in nearly every other byte."""
    even, odd = start[::2].count(0), start[1::2].count(0)
    many = len(start) // 4
    if odd > many and even < odd // 8:
        return "utf-16-le"
    if even > many and odd < even // 8:
        return "utf-16-be"
    return None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _guess(body: bytes) -> str:
    """As Firefox does, with the page's language for the domain of its host: few bytes fit many charsets."""
    # Imported here only: few pages need it.
    from chardetng_py import EncodingDetector

    detector = EncodingDetector()
    detector.feed(_sample(body), last=False)
    name = detector.guess(tld=language_domain(body), allow_utf8=False)
    # Python's name for one of them is no label of the web: cp874.
    return codec_of_label(name) or name


def _sample(body: bytes) -> bytes:
    """A part with the first bytes that distinguish charsets."""
    telling = _TELLING.search(body)
    start = max(0, telling.start() - 256) if telling else 0
    return body[start : start + _SAMPLE_BYTES]


def _decoded(body: bytes, codec: str) -> str:
    text = body.decode(codec, "replace")
    return text.replace("\0", "\ufffd") if "\0" in text else text
