"""Reads the body of an answer that the browser has paused, up to a limit, as the site sent it but decompressed.

The browser would read a whole body into its own memory: ten megabytes of gzip may be ten gigabytes.
"""

from __future__ import annotations

import base64
from typing import Any

from shoal.browser.devtools import DevToolsError, Session
from shoal.fetch.exchange import Headers

_CHUNK_BYTES = 1 << 20
_ONLY_ON_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class BodyTooLarge(Exception):
    pass


async def read_body(session: Session, request_id: str, most_bytes: int) -> bytes:
    """Raises BodyTooLarge. Afterwards the request can only be fulfilled or failed."""
    stream = (await session.call("Fetch.takeResponseBodyAsStream", requestId=request_id))["stream"]
    parts: list[bytes] = []
    size = 0
    try:
        while True:
            part = await session.call("IO.read", handle=stream, size=_CHUNK_BYTES)
            data = base64.b64decode(part["data"]) if part.get("base64Encoded") else part["data"].encode()
            parts.append(data)
            size += len(data)
            if size > most_bytes:
                raise BodyTooLarge(f"the body is larger than {most_bytes:,} bytes when decompressed")
            if part["eof"]:
                return b"".join(parts)
    finally:
        session.tell("IO.close", handle=stream)


async def fulfill(session: Session, request_id: str, status: int, headers: Headers, body: bytes) -> None:
    """Gives the page an answer. Does nothing if the page no longer waits for it."""
    fields = [{"name": name, "value": value} for name, value in decoded_headers(headers)]
    given: dict[str, Any] = {"requestId": request_id, "responseCode": status, "responseHeaders": fields}
    if body:
        given["body"] = base64.b64encode(body).decode()
    try:
        await session.call("Fetch.fulfillRequest", **given)
    except DevToolsError:
        pass


def decoded_headers(headers: Headers) -> Headers:
    """Without those that no longer fit the body."""
    return Headers([(name, value) for name, value in headers if name.lower() not in _ONLY_ON_THE_WIRE])


def headers_of(fields: list[dict[str, str]]) -> Headers:
    return Headers([(field["name"], field["value"]) for field in fields])
