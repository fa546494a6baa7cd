"""Content codings, undone within a byte cap: gzip (several members too), deflate in both readings, br, zstd.

Memory stays near the cap whatever the input claims. A body that breaks off or turns bad gives what came before;
only if nothing did is it undecodable. Codings nobody knows are taken for identity, as browsers do.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import brotli
import zstandard

MAX_CODINGS = 2
_MAX_MEMBERS = 10_000
_STEP_BYTES = 1 << 20
# zlib copies what it has not read at every step and member, so it is fed by small windows.
_WINDOW_BYTES = 1 << 14
# RFC 9659: no larger window may be asked of a recipient of the zstd coding.
_ZSTD_WINDOW_BYTES = 8 << 20
_GZIP, _ZLIB, _DEFLATE = 31, 15, -15


class CannotDecode(Exception):
    """The body does not match its codings."""


class DecodedTooLarge(Exception):
    """The decoded body would exceed the cap."""


def decode(raw: bytes, content_encoding: str, max_bytes: int, truncate: bool = False) -> bytes:
    """The body without its codings; `truncate` cuts at the cap where otherwise DecodedTooLarge is raised."""
    if not content_encoding or not raw:
        return raw
    names = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [_CODINGS[name] for name in names if name in _CODINGS]
    if len(codings) > MAX_CODINGS:
        raise CannotDecode(f"{len(codings)} content codings, at most {MAX_CODINGS} are undone")
    for pieces in reversed(codings):
        raw = _collect(pieces(raw), max_bytes, truncate)
    return raw


def _collect(pieces: Iterator[bytes], max_bytes: int, truncate: bool) -> bytes:
    out: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            out.append(piece)
            size += len(piece)
            if size > max_bytes:
                break
    except (zlib.error, brotli.error, zstandard.ZstdError, EOFError) as error:
        if not size:
            raise CannotDecode(str(error)) from error
    if size > max_bytes and not truncate:
        raise DecodedTooLarge
    return b"".join(out)[:max_bytes] if len(out) != 1 else out[0][:max_bytes]


def _gzip(raw: bytes) -> Iterator[bytes]:
    return _inflate(raw, _GZIP)


def _deflate(raw: bytes) -> Iterator[bytes]:
    # The name means zlib; some servers send the bare stream, which cannot begin like a zlib header.
    has_header = raw[0] & 0x0F == 8 and int.from_bytes(raw[:2], "big") % 31 == 0
    return _inflate(raw, _ZLIB if has_header else _DEFLATE)


def _inflate(raw: bytes, kind: int) -> Iterator[bytes]:
    view, stream, members = memoryview(raw), zlib.decompressobj(kind), 0
    for start in range(0, len(raw), _WINDOW_BYTES):
        piece: bytes | memoryview = view[start : start + _WINDOW_BYTES]
        while piece:
            if stream.eof:
                members += 1
                if kind != _GZIP:
                    return
                if members == _MAX_MEMBERS:
                    raise CannotDecode(f"more than {_MAX_MEMBERS} gzip members")
                stream = zlib.decompressobj(kind)
            yield stream.decompress(piece, _STEP_BYTES)
            piece = stream.unused_data or stream.unconsumed_tail
    yield stream.flush()
    if not stream.eof and not members:
        raise EOFError("the compressed body breaks off")


def _brotli(raw: bytes) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    piece = stream.process(raw, output_buffer_limit=_STEP_BYTES)
    while piece:
        yield piece
        piece = b"" if stream.is_finished() else stream.process(b"", output_buffer_limit=_STEP_BYTES)
    if not stream.is_finished():
        raise EOFError("the compressed body breaks off")


def _zstd(raw: bytes) -> Iterator[bytes]:
    stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).stream_reader(raw, read_across_frames=True)
    piece = stream.read(_STEP_BYTES)
    if not piece and zstandard.frame_content_size(raw) != 0:
        raise EOFError("the compressed body breaks off")
    while piece:
        yield piece
        piece = stream.read(_STEP_BYTES)


_CODINGS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
