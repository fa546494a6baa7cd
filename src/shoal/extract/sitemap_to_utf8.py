"""Converts a sitemap, in XML or as a list of URLs, to UTF-8, piece by piece: by its byte order mark, its XML
declaration, or as UTF-8.

Bytes that cannot be decoded become U+FFFD, so that one of them does not end the reading.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import chain

UNDECODABLE = "\ufffd"
_DECLARATION = re.compile(rb"""\s*+<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]{1,40})["']""")
_DECLARED_WITHIN = 200
_CHARSETS = re.compile(r"(?:iso8859|cp|windows|koi8|mac|tis|gb|big5|euc|shift_jis|iso2022)[\w-]*")
"""Python's names of charsets for texts. Other codecs of Python decompress, or unescape."""
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932", "iso8859-1": "cp1252"}
"""What such documents contain in fact, as the WHATWG Encoding Standard has it."""
_UTF_16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}


class UnknownEncoding(Exception):
    pass


def sitemap_to_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Raises UnknownEncoding."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= _DECLARED_WITHIN or b">" in head:
            break
    decoder = codecs.getincrementaldecoder(_codec(head))(errors="replace")
    for piece in chain((head,), pieces):
        yield decoder.decode(piece).encode(errors="replace")
    yield decoder.decode(b"", final=True).encode(errors="replace")


def _codec(head: bytes) -> str:
    if codec := _UTF_16.get(head[:2]):
        return codec
    declared = _DECLARATION.match(head.removeprefix(codecs.BOM_UTF8))
    # A document that declares UTF-16 in ASCII letters is not in UTF-16.
    if declared is None or declared[1].lower().startswith((b"utf-", b"utf8", b"us-ascii", b"ascii")):
        return "utf-8"
    name = declared[1].decode("ascii")
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = ""
    if not _CHARSETS.fullmatch(codec):
        raise UnknownEncoding(f"an encoding that cannot be read: {name}")
    return _SUPERSETS.get(codec, codec)
