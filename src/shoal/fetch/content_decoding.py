"""Decodes content codings up to a size limit: gzip (also several members), both kinds of deflate, br, zstd.

Memory stays near the limit, whatever the input claims. A truncated or corrupt body gives everything before the fault,
to the last byte. Only if there is nothing, it is undecodable. Unknown codings count as identity, as in browsers.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from itertools import chain
from typing import NamedTuple

MAX_CODINGS = 2
_MAX_MEMBERS = 10_000
_MAX_BLOCKS = 10_000
_STEP_BYTES = 1 << 20
# zlib copies its unread input at every step and member, so it gets small pieces.
_WINDOW_BYTES = 1 << 14
_SMALL_BYTES = 1 << 7
# RFC 9659: a recipient of the zstd coding need not support a larger window.
_ZSTD_WINDOW_BYTES = 8 << 20
_ZSTD_HEADER_BYTES = 18
_ZSTD_SKIPPED = b"\x2a\x4d\x18"
_GZIP, _ZLIB, _DEFLATE = 31, 15, -15
_GZIP_BEGINS = 0x1F

Unpack = Callable[[bytes, Iterable[memoryview]], Iterator[bytes]]
"""Takes the complete body, to inspect, and the same body in pieces, to decode."""


class CannotDecode(Exception):
    """The body does not match its codings."""


class DecodedTooLarge(Exception):
    """The decoded body would exceed the limit."""


class Decoded(NamedTuple):
    body: bytes
    fault: str | None
    """The error in a coding, if there was one: the body may be incomplete."""


def decode(raw: bytes, content_encoding: str, max_bytes: int, truncate: bool = False) -> Decoded:
    """Decodes the body. With `truncate` it cuts at the limit instead of raising DecodedTooLarge."""
    if not content_encoding or not raw:
        return Decoded(raw, None)
    names = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [_CODINGS[name] for name in names if name in _CODINGS]
    if len(codings) > MAX_CODINGS:
        raise CannotDecode(f"{len(codings)} content codings: at most {MAX_CODINGS} are decoded")
    faults = []
    for unpack in reversed(codings):
        body, fault = _gathered(unpack(raw, _pieces(raw, _WINDOW_BYTES)), max_bytes)
        if fault is not None:
            body = _partial_body(fault, body, unpack, raw, max_bytes)
            faults.append(str(fault))
        if len(body) > max_bytes and not truncate:
            # The traceback would keep it in memory.
            del body
            raise DecodedTooLarge
        raw = body[:max_bytes]
        if not raw:
            break
    return Decoded(raw, faults[0] if faults else None)


def _partial_body(fault: Exception, body: bytes, unpack: Unpack, raw: bytes, max_bytes: int) -> bytes:
    if not isinstance(fault, EOFError):
        body, _ = _gathered(_to_the_fault(unpack, raw), max_bytes)
    if not body:
        raise CannotDecode(str(fault)) from fault
    return body


def _gathered(pieces: Iterator[bytes], max_bytes: int) -> tuple[bytes, Exception | None]:
    # One buffer: joining pieces at the end would take twice the memory.
    out = BytesIO()
    size, fault = 0, None
    try:
        for piece in pieces:
            size += out.write(piece)
            if size > max_bytes:
                break
    except _faults() as error:
        fault = error
    return out.getvalue(), fault


def _faults() -> tuple[type[Exception], ...]:
    """What the decoders raise."""
    # Libraries of decoders are imported where they are needed: many crawls meet one coding, and few meet a fault.
    import brotli
    import zstandard

    return zlib.error, brotli.error, zstandard.ZstdError, EOFError


def _to_the_fault(unpack: Unpack, raw: bytes) -> Iterator[bytes]:
    """A decoder loses its output for the piece with the fault, so that piece is fed byte by byte."""
    pieces = _pieces(raw, _SMALL_BYTES)
    with suppress(*_faults()):
        deque(unpack(raw, pieces), maxlen=0)
    end = len(raw) - sum(map(len, pieces))
    start = max(0, end - _SMALL_BYTES)
    return unpack(raw, chain(_pieces(raw[:start], _SMALL_BYTES), _pieces(raw[start:end], 1)))


def _pieces(raw: bytes, size: int) -> Iterator[memoryview]:
    view = memoryview(raw)
    return (view[start : start + size] for start in range(0, len(raw), size))


def _gzip(_: bytes, pieces: Iterable[memoryview]) -> Iterator[bytes]:
    return _inflate(pieces, _GZIP)


def _deflate(raw: bytes, pieces: Iterable[memoryview]) -> Iterator[bytes]:
    # The name means zlib, but some servers send the bare stream, which cannot begin like a zlib header.
    has_header = raw[0] & 0x0F == 8 and int.from_bytes(raw[:2], "big") % 31 == 0
    return _inflate(pieces, _ZLIB if has_header else _DEFLATE)


def _inflate(pieces: Iterable[memoryview], kind: int) -> Iterator[bytes]:
    stream, members = zlib.decompressobj(kind), 0
    for window in pieces:
        piece: bytes | memoryview = window
        while piece:
            if stream.eof:
                members += 1
                if kind != _GZIP or piece[0] != _GZIP_BEGINS:
                    # Padding.
                    return
                if members == _MAX_MEMBERS:
                    raise CannotDecode(f"more than {_MAX_MEMBERS} gzip members")
                stream = zlib.decompressobj(kind)
            yield stream.decompress(piece, _STEP_BYTES)
            piece = stream.unused_data or stream.unconsumed_tail
    yield stream.flush()
    if not stream.eof:
        raise EOFError("the compressed body is truncated")


def _brotli(_: bytes, pieces: Iterable[memoryview]) -> Iterator[bytes]:
    import brotli

    stream = brotli.Decompressor()
    for window in pieces:
        piece = stream.process(window, output_buffer_limit=_STEP_BYTES)
        while piece:
            yield piece
            piece = b"" if stream.is_finished() else stream.process(b"", output_buffer_limit=_STEP_BYTES)
        if stream.is_finished():
            return
    raise EOFError("the compressed body is truncated")


def _zstd(raw: bytes, pieces: Iterable[memoryview]) -> Iterator[bytes]:
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    # Its type stub requires a full file, but it only reads.
    stream = decompressor.stream_reader(_Source(pieces), read_across_frames=True)  # type: ignore[arg-type]
    while piece := stream.read1(_STEP_BYTES):
        yield piece
    if not _is_complete_zstd(raw):
        raise EOFError("the compressed body is truncated")


class _Source:
    """The pieces as a file that returns one piece per read, whatever size is requested."""

    def __init__(self, pieces: Iterable[memoryview]) -> None:
        self._pieces = iter(pieces)

    def read(self, _: int) -> bytes:
        return bytes(next(self._pieces, b""))


def _is_complete_zstd(raw: bytes) -> bool:
    """Checks the sizes of its blocks (RFC 8878), because the decoder does not. Very many blocks count as complete."""
    import zstandard

    at = checksum_bytes = 0
    in_frame = False
    for _ in range(_MAX_BLOCKS):
        if at >= len(raw):
            return at == len(raw) and not in_frame
        if in_frame:
            block = int.from_bytes(raw[at : at + 3], "little")
            in_frame, is_run = not block & 1, block >> 1 & 3 == 1
            at += 3 + (1 if is_run else block >> 3) + (0 if in_frame else checksum_bytes)
        elif raw[at + 1 : at + 4] == _ZSTD_SKIPPED:
            at += 8 + int.from_bytes(raw[at + 4 : at + 8], "little")
        else:
            header_bytes = zstandard.frame_header_size(raw[at : at + _ZSTD_HEADER_BYTES])
            in_frame, checksum_bytes = True, raw[at + 4] & 4
            at += header_bytes
    return True


_CODINGS: dict[str, Unpack] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
