"""Streams responses of any length as file downloads."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from threading import BoundedSemaphore

from flask import Response, request
from werkzeug.wsgi import ClosingIterator

from shoal.control.problems import RETRY_S, Problem
from shoal.control.response_socket import STREAMS
from shoal.control.thread_slots import slot

SENT_AT_ONCE = 1 << 16
AT_ONCE = 4
"""Exports per process: each holds a database connection or files for as long as its reader takes."""
_EXPORTS = BoundedSemaphore(AT_ONCE)


def attachment(parts: Iterator[bytes], media: str, name: str) -> Response:
    """Raises a Problem if too many exports run, and any exception of `parts` before its first bytes."""
    stream = _in_slot(parts)
    # Read the first bytes here, where an error can still become an error response.
    first = next(stream, b"")
    request.environ[STREAMS] = True
    sent = ClosingIterator(chain([first], stream), stream.close)
    return Response(sent, headers={"Content-Disposition": f'attachment; filename="{name}"'}, content_type=media)


def _in_slot(parts: Iterable[bytes]) -> Generator[bytes, None, None]:
    """Holds a slot from its first part to its last."""
    with slot() as had:
        if not had or not _EXPORTS.acquire(blocking=False):
            detail = "too many exports at the moment: try again later"
            raise Problem(503, detail, headers={"Retry-After": str(RETRY_S)})
        try:
            yield from _joined(parts)
        finally:
            _EXPORTS.release()


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    held_bytes = 0
    for part in parts:
        held.append(part)
        held_bytes += len(part)
        if held_bytes >= SENT_AT_ONCE:
            yield b"".join(held)
            held, held_bytes = [], 0
    yield b"".join(held)
