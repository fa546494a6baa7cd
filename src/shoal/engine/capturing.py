"""An exchange as the archive keeps it: the answer as it came, and the request without what may be a secret."""

from __future__ import annotations

from shoal.engine.ending import Ending
from shoal.engine.refresh import NOT_MODIFIED
from shoal.engine.work import Work
from shoal.fetch.exchange import Exchange, Failure
from shoal.fetch.transfer import Fetch, header_lines
from shoal.model import PageRecord
from shoal.store.archive.capture import Capture
from shoal.store.archive.warc import digest
from shoal.urls import origin_of

_PROTOCOLS = {"2": "h2", "3": "h3"}


def capture(work: Work, call: Fetch, answer: Exchange | Failure, end: Ending) -> Capture | None:
    """None if there was no answer, if it is not the last word on its request, or if the job keeps no archive."""
    if work.recorder is None or end.record is None or isinstance(answer, Failure):
        return None
    page = end.record if isinstance(end.record, PageRecord) else None
    not_modified = answer.status == NOT_MODIFIED
    digested = page is not None and answer.raw is answer.body and not not_modified
    return Capture(
        url=call.url,
        request=request_bytes(work, call),
        head=answer.head,
        raw=answer.raw,
        digest=answer.raw_digest or (page.digest if page is not None and digested else digest(answer.raw)),
        status=answer.status,
        content_type=answer.headers.get("content-type"),
        content_encoding=answer.headers.get("content-encoding"),
        protocol=_PROTOCOLS.get(answer.version, f"http/{answer.version}"),
        ip=answer.ip,
        started_at=answer.started_at,
        body_at=page.archive if page is not None and not_modified else None,
    )


def request_bytes(work: Work, call: Fetch) -> bytes:
    """What went out but for cookies, credentials, and the job's own headers that are not known to be harmless."""
    origin = origin_of(call.url)
    path = call.url[len(origin) :].encode()
    host = origin.partition("://")[2].encode()
    lines = [b"%b %b HTTP/1.1" % (call.method.encode(), path), b"Host: " + host, b"User-Agent: " + work.agent.encode()]
    for line in header_lines(call, work.open_headers):
        # libcurl is told to leave a field out by giving it no value.
        if not line.endswith(b":") and not line.lower().startswith(b"user-agent:"):
            lines.append(line)
    if call.body:
        lines.append(b"Content-Length: %d" % len(call.body))
    return b"\r\n".join((*lines, b"", call.body))
