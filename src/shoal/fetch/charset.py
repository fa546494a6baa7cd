"""Bytes of a page -> UTF-8, never raising.

The order is that of browsers: byte order mark, the header's charset, the page's own declaration; then, where
browsers guess by locale, UTF-16 by its zero bytes, valid UTF-8, a guess from a sample, and windows-1252. What
cannot be decoded, and NUL, becomes U+FFFD, so that every store and export takes the result.
"""

from __future__ import annotations

import codecs
import re

from shoal.fetch.labels import codec_of_label

_PRESCAN_BYTES = 1024
_SAMPLE_BYTES = 4096
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_DECLARED = re.compile(
    rb"""<meta\s[^>]*?charset\s*=\s*["']?\s*([^\s"'/>;]+)|<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]+)""",
    re.IGNORECASE,
)


def to_utf8(body: bytes, content_type: str) -> bytes:
    """Valid UTF-8 without byte order mark or NUL; the body itself wherever it already is that."""
    if _plain_ascii(body):
        return body
    codec, bom = charset(body, content_type)
    if codec == "utf-8" and not bom and b"\0" not in body and _is_utf8(body):
        return body
    return _decoded(body[bom:], codec).encode()


def charset(body: bytes, content_type: str) -> tuple[str, int]:
    """The Python codec to read the body with, and the length of its byte order mark."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return codec, len(mark)
    return _by_header(content_type) or _by_declaration(body) or _by_content(body), 0


def _plain_ascii(body: bytes) -> bool:
    # ISO-2022-JP hides its text behind ESC and UTF-16 its zero bytes; anything else reads ASCII alike.
    return body.isascii() and b"\0" not in body and b"\x1b" not in body


def _by_header(content_type: str) -> str | None:
    found = _HEADER.search(content_type)
    return codec_of_label(found[1]) if found else None


def _by_declaration(body: bytes) -> str | None:
    start = body[:_PRESCAN_BYTES]
    if b"<!--" in start:
        start = _COMMENT.sub(b"", start)
    found = _DECLARED.search(start)
    codec = codec_of_label((found[1] or found[2]).decode("latin-1")) if found else None
    # Whoever could be read byte by byte up to here is not UTF-16.
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec


def _by_content(body: bytes) -> str:
    return _by_zero_bytes(body[:_PRESCAN_BYTES]) or ("utf-8" if _is_utf8(body) else _guess(body))


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
    # Costs milliseconds and a slow import, and few pages get here.
    from charset_normalizer import from_bytes

    best = from_bytes(_sample(body), steps=3, chunk_size=1024).best()
    return (codec_of_label(best.encoding) if best else None) or "cp1252"


def _sample(body: bytes) -> bytes:
    """A stretch that holds the first bytes that are not ASCII: they alone tell charsets apart."""
    first = next((at for at, byte in enumerate(body) if byte > 127), 0)
    start = max(0, first - 256)
    return body[start : start + _SAMPLE_BYTES]


def _decoded(body: bytes, codec: str) -> str:
    text = body.decode(codec, "replace")
    return text.replace("\0", "\ufffd") if "\0" in text else text
