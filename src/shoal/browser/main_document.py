"""The document of a page: it is requested once, with the headers of its request, and its answer is kept.

A redirect is an answer, as it is without a browser. Where a script of the page wants to go is noted and not followed,
unless a step made it go there. What is not HTML is kept as it is, and not shown in the browser.
"""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from shoal.browser.devtools import Session
from shoal.browser.page_failure import PageFailed
from shoal.browser.response_body import BodyTooLarge, fulfill, headers_of, read_body
from shoal.extract.html_tags import HTML_TYPES
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.decode_body import most_unpacked_bytes
from shoal.fetch.exchange import REDIRECTS, FailureKind, Headers
from shoal.urls import domain_of, host_of

MOST_LEAVES = 20
_NO_CONTENT = (204, 205)
Params = dict[str, Any]


@dataclass(slots=True)
class DocumentAnswer:
    url: str
    status: int
    reason: str
    headers: Headers
    raw: bytes = b""
    is_shown: bool = False
    """Whether the browser shows it: it is HTML, and no redirect."""


class MainDocument:
    def __init__(self, session: Session, call: Fetch) -> None:
        self._session = session
        self._call = call
        self.answer: DocumentAnswer | None = None
        self.error = ""
        """Why there was no answer, in the browser's words."""
        self.leads_to = ""
        self.leaves = 0
        self.may_navigate = False
        """A step is under way, which may lead to another page of the site."""
        self.navigations = 0
        self.is_navigating = False
        """It was requested and is not answered yet."""
        self._asked_at = self._answered_at = 0.0

    @property
    def latency_s(self) -> float:
        return max(0.0, self._answered_at - self._asked_at)

    def requested(self, params: Params) -> bool:
        """Lets the request go or stops it. False if a script wanted to leave the page."""
        request_id, request = params["requestId"], params["request"]
        if self._asked_at and not self._may_go_to(request["url"]):
            self.leads_to = self.leads_to or request["url"]
            self.leaves += 1
            self._session.tell("Fetch.failRequest", requestId=request_id, errorReason="Aborted")
            return False
        changes: Params = {} if self._asked_at else self._own_request(request)
        self._asked_at = self._asked_at or time.monotonic()
        self.navigations += 1
        self.is_navigating = True
        self._session.tell("Fetch.continueRequest", requestId=request_id, interceptResponse=True, **changes)
        return True

    async def answered(self, params: Params) -> None:
        """Raises PageFailed."""
        request_id = params["requestId"]
        self._answered_at = self._answered_at or time.monotonic()
        if "responseErrorReason" in params:
            self.error, self.is_navigating = params["responseErrorReason"], False
            self._session.tell("Fetch.continueRequest", requestId=request_id)
            return
        headers = headers_of(params.get("responseHeaders", []))
        answer = DocumentAnswer(
            params["request"]["url"], params["responseStatusCode"], params.get("responseStatusText", ""), headers
        )
        if answer.status in REDIRECTS and "location" in headers:
            self._redirected(request_id, answer)
            return
        answer.is_shown = is_html(headers) and answer.status not in _NO_CONTENT
        await self._take(request_id, answer)

    def _redirected(self, request_id: str, answer: DocumentAnswer) -> None:
        if self.may_navigate:
            self._session.tell("Fetch.continueRequest", requestId=request_id)
            return
        self.answer, self.is_navigating = answer, False
        self._session.tell("Fetch.failRequest", requestId=request_id, errorReason="Aborted")

    async def _take(self, request_id: str, answer: DocumentAnswer) -> None:
        try:
            declared = answer.headers.get("content-length")
            if declared.isdecimal() and int(declared[:15]) > self._call.max_bytes:
                raise BodyTooLarge(f"the body is larger than {self._call.max_bytes:,} bytes")
            answer.raw = await read_body(self._session, request_id, most_unpacked_bytes(self._call))
        except BodyTooLarge as error:
            self._session.tell("Fetch.failRequest", requestId=request_id, errorReason="Aborted")
            raise PageFailed(FailureKind.TOO_LARGE, str(error)) from error
        self.answer, self.is_navigating = answer, False
        if answer.is_shown:
            await fulfill(self._session, request_id, answer.status, answer.headers, answer.raw)
        else:
            self._session.tell("Fetch.failRequest", requestId=request_id, errorReason="Aborted")

    def _own_request(self, request: Params) -> Params:
        """The headers go with the document only: `Network.setExtraHTTPHeaders` would send them to third parties too."""
        call = self._call
        own = {**call.headers, **({"Content-Type": call.content_type} if call.body else {})}
        names = {name.lower() for name in own}
        kept = {name: value for name, value in request["headers"].items() if name.lower() not in names}
        # A field without a value tells libcurl to leave it out.
        fields = [{"name": name, "value": value} for name, value in (kept | own).items() if value]
        changes: Params = {"headers": fields}
        if call.method != "GET":
            changes["method"] = call.method
        if call.body:
            changes["postData"] = base64.b64encode(call.body).decode()
        return changes

    def _may_go_to(self, url: str) -> bool:
        if not self.may_navigate or urlsplit(url).scheme not in ("http", "https"):
            return False
        return domain_of(host_of(f"{url}/")) == domain_of(host_of(self._call.url))


def is_html(headers: Headers) -> bool:
    kind = headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    is_file = headers.get("content-disposition").strip().lower().startswith("attachment")
    return (kind in HTML_TYPES or not kind) and not is_file


async def until(condition: Any, every_s: float = 0.03) -> None:
    """Polls: the browser's events change it at any time."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(every_s)
