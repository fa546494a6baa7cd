"""Prepares a result for saving: the exchange as the archive keeps it, without secrets, and small bodies packed.

Small results are packed on the event loop. In the store's thread, loop and thread would take the interpreter from each
other at every compression and digest, five times a page: a tenth of the crawl's CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.engine.active_job import ActiveJob
from shoal.engine.reading.conditional_recrawl import NOT_MODIFIED
from shoal.engine.reading.file_requests import FILE
from shoal.engine.reading.parse_page import BIG_BYTES
from shoal.engine.request_result import RequestResult
from shoal.fetch.curl_transfer import Fetch, header_lines
from shoal.fetch.exchange import RENDERED_TYPE, Exchange, Failure
from shoal.model import PageRecord
from shoal.model.request_options import OPEN_HEADERS
from shoal.store.archive.capture import Capture, Resource
from shoal.store.archive.file_paths import file_path
from shoal.store.archive.recorder import DOM
from shoal.store.archive.warc import digest
from shoal.store.crawl.pack_content import pack
from shoal.urls import origin_of

if TYPE_CHECKING:
    from shoal.fetch.rendered_page import PageCall, RenderedPage

_PROTOCOLS = {"2": "h2", "3": "h3"}


def capture(active_job: ActiveJob, call: Fetch, answer: Exchange | Failure, result: RequestResult) -> Capture | None:
    """None if there was no answer, if the request will be retried, or if the job keeps no archive."""
    if active_job.recorder is None or result.record is None or isinstance(answer, Failure):
        return None
    page = result.record if isinstance(result.record, PageRecord) else None
    not_modified = answer.status == NOT_MODIFIED
    file = file_path(page.digest, page.content_type) if page is not None and _brings_file(answer, result) else None
    # The content of a file is kept as people use it: without a content coding.
    raw = answer.raw if file is None else answer.body
    digested = page is not None and raw is answer.body and not not_modified
    return Capture(
        url=call.url,
        request=request_bytes(active_job, call),
        head=answer.head,
        raw=raw,
        digest=page.digest if page is not None and digested else answer.raw_digest or digest(raw),
        status=answer.status,
        content_type=answer.headers.get("content-type"),
        content_encoding=answer.headers.get("content-encoding") if file is None else "",
        protocol=_PROTOCOLS.get(answer.version, f"http/{answer.version}"),
        ip=answer.ip,
        started_at=answer.started_at,
        body_at=page.archive if page is not None and not_modified else None,
        resources=_resources(answer, answer.rendered) if answer.rendered is not None else (),
        calls=tuple(map(_call, answer.rendered.calls)) if answer.rendered is not None else (),
        file=file,
    )


def _brings_file(answer: Exchange, result: RequestResult) -> bool:
    trail = result.lease.trail
    return trail.is_asset and FILE in (trail.meta or {}) and 200 <= answer.status < 300


def _resources(answer: Exchange, rendered: RenderedPage) -> tuple[Resource, ...]:
    pictures = (Resource(each.kind, each.content_type, each.body) for each in rendered.pictures)
    return Resource(DOM, RENDERED_TYPE, answer.body), *pictures


def _call(call: PageCall) -> Capture:
    return Capture(
        url=call.url,
        request=call.request,
        head=call.head,
        raw=call.body,
        digest=digest(call.body),
        status=call.status,
        content_type=call.content_type,
        content_encoding="",
        protocol="http/1.1",
        ip="",
        started_at=call.started_at,
    )


def request_bytes(active_job: ActiveJob, call: Fetch) -> bytes:
    """The request without cookies, credentials, and those of the job's or its own headers that may be secret."""
    origin = origin_of(call.url)
    path = call.url[len(origin) :].encode()
    host = origin.partition("://")[2].encode()
    lines = [
        b"%b %b HTTP/1.1" % (call.method.encode(), path),
        b"Host: " + host,
        b"User-Agent: " + active_job.agent.encode(),
    ]
    shown = {name: value for name, value in call.headers.items() if name.lower() in OPEN_HEADERS}
    for line in header_lines(call, shown):
        # A field without a value tells libcurl to leave it out.
        if not line.endswith(b":") and not line.lower().startswith(b"user-agent:"):
            lines.append(line)
    if call.body:
        lines.append(b"Content-Length: %d" % len(call.body))
    return b"\r\n".join((*lines, b"", call.body))


def pack_small(active_job: ActiveJob, result: RequestResult) -> None:
    """Larger results would delay other hosts, so they are left to the thread."""
    page = result.record
    if isinstance(page, PageRecord) and page.content is not None and page.bytes <= BIG_BYTES:
        page.content = pack(page.content)
    if result.capture is not None and active_job.recorder is not None and len(result.capture.raw) <= BIG_BYTES:
        active_job.recorder.draft(result.capture)
