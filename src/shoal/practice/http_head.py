"""HTTP/1.1 heads as bytes: parses requests strictly, writes responses."""

from __future__ import annotations

from http import HTTPStatus

from shoal.practice.request import Answer

MAX_HEAD_BYTES = 65_536
HEAD_END = b"\r\n\r\n"
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


def read_head(head: str) -> tuple[str, str, dict[str, str]]:
    """Method, target and headers; raises ValueError if this is not HTTP. For HTTP/1.0, sets `connection: close`."""
    line, *fields = head.split("\r\n")
    method, target, version = line.split(" ")
    headers = {}
    for field in fields:
        name, colon, value = field.partition(":")
        if not colon:
            raise ValueError(f"a header without colon: {field!r}")
        headers[name.lower()] = value.strip()
    if version != "HTTP/1.1":
        headers["connection"] = "close"
    return method, target, headers


def answer_head(answer: Answer, closing: bool) -> bytes:
    status = answer.status
    lines = (
        f"HTTP/1.1 {status} {_PHRASES.get(status, 'Unknown')}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
        "Connection: close" if closing else "Connection: keep-alive",
    )
    return "\r\n".join(lines).encode("latin-1") + HEAD_END
