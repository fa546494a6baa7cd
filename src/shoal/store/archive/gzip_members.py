"""Gzip members. Each holds one record, so that a record can be read by its offset and segments can be concatenated."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import IO

from isal import isal_zlib

# The stub declares an instance instead of the class.
_FAULT: type[Exception] = isal_zlib.error  # type: ignore[assignment]
_GZIP = 31
_LEVEL = 1
"""41 us for a page of 22 KB, to a third of its size; zlib's own fastest level takes 100."""
_SMALL_BYTES, _SMALL_LEVEL = 1 << 10, 0
"""A small record hardly shrinks, and each member would build the level's tables again: 1.4 us instead of 6.4."""
_WINDOW_BYTES = 1 << 16
_FIRST_READ_BYTES, _MOST_READ_BYTES = 1 << 18, 1 << 28


def compress_member(record: bytes) -> bytes:
    return isal_zlib.compress(record, _LEVEL if len(record) > _SMALL_BYTES else _SMALL_LEVEL, _GZIP)


def store_member(record: bytes) -> bytes:
    """Stores without compression, for a record that is compressed already."""
    return zlib.compress(record, 0, _GZIP)


def decompress_member(member: bytes) -> bytes | None:
    """None if this is not one complete member."""
    found = next(complete_members(member), None)
    return found[1] if found is not None and found[0] == len(member) else None


def read_member(file: IO[bytes], at: int) -> tuple[int, bytes] | None:
    """The end and the content of the member that begins there. None at the end of the file, and for a torn member."""
    length = _FIRST_READ_BYTES
    while length <= _MOST_READ_BYTES:
        file.seek(at)
        data = file.read(length)
        if (found := next(complete_members(data), None)) is not None:
            return at + found[0], found[1]
        if len(data) < length:
            return None
        length *= 4
    return None


def complete_members(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the end and the content of each member, up to the first that is incomplete or invalid."""
    view, end = memoryview(data), 0
    while end < len(view):
        stream, parts = isal_zlib.decompressobj(_GZIP), []
        try:
            while not stream.eof and end < len(view):
                parts.append(stream.decompress(view[end : end + _WINDOW_BYTES]))
                end = min(end + _WINDOW_BYTES, len(view))
        except _FAULT:
            return
        if not stream.eof:
            return
        end -= len(stream.unused_data)
        yield end, b"".join(parts)
