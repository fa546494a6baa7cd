"""Answers of any length, sent as files while they are made."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from threading import BoundedSemaphore

from flask import Response, request
from werkzeug.wsgi import ClosingIterator

from shoal.control.answer_socket import STREAMS
from shoal.control.problems import RETRY_S, Problem
from shoal.control.slots import slot

SENT_AT_ONCE = 1 << 16
AT_ONCE = 4
"""Of one process: each holds a connection to the database, or files, for as long as its reader takes."""
_EXPORTS = BoundedSemaphore(AT_ONCE)


def attachment(parts: Iterator[bytes], media: str, name: str) -> Response:
    """Raises what the parts raise up to their first bytes, and a Problem if as many are being sent as may be."""
    stream = _in_slot(parts)
    # Read up to its first bytes here, where what is wrong can still be answered.
    first = next(stream, b"")
    request.environ[STREAMS] = True
    sent = ClosingIterator(chain([first], stream), stream.close)
    return Response(sent, headers={"Content-Disposition": f'attachment; filename="{name}"'}, content_type=media)


def _in_slot(parts: Iterable[bytes]) -> Generator[bytes, None, None]:
    """Holds a slot from its first part to its last."""
    with slot() as had:
        if not had or not _EXPORTS.acquire(blocking=False):
            detail = "as many exports are being sent as may be: try again"
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
