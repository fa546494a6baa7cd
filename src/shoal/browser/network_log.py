"""What a page requests: which requests are open, how many each host got, what failed, and what its scripts called."""

from __future__ import annotations

import asyncio
import base64
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from shoal.browser.devtools import DevToolsError, Session
from shoal.fetch.rendered_page import PageCall
from shoal.model.request_options import OPEN_HEADERS
from shoal.urls import host_of

QUIET_S = 0.4
POLL_AFTER_S = 2.0
"""A request that is open for longer is a poll or a stream. Nobody waits for its end."""
MOST_FAILED = 100
MOST_CALLS = 100
MOST_CALL_BYTES = 2_000_000
MOST_CALLS_BYTES = 8_000_000
_CALL_TYPES = ("XHR", "Fetch")
_WIRE = ("http:", "https:")
Params = dict[str, Any]


@dataclass(slots=True)
class _Open:
    url: str
    since: float
    started_at: float
    request: Params
    response: Params | None = None
    is_call: bool = False


class NetworkLog:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._open: dict[str, _Open] = {}
        self._changed_at = time.monotonic()
        """When a request was last sent or ended."""
        self._bodies: set[asyncio.Task[None]] = set()
        self._call_bytes = 0
        self._held = 0
        """Requests that wait for a permission."""
        self.requests: Counter[str] = Counter()
        self.failed: list[tuple[str, str]] = []
        self.calls: list[PageCall] = []
        self.handlers = {
            "Network.requestWillBeSent": self._sent,
            "Network.responseReceived": self._answered,
            "Network.loadingFinished": self._finished,
            "Network.loadingFailed": self._failed,
        }

    def uncount(self, url: str) -> None:
        """The request did not leave the browser."""
        if url.startswith(_WIRE):
            self.requests[_host(url)] -= 1

    def hold(self) -> None:
        """A request waits until robots.txt is known."""
        self._held += 1

    def let_go(self, id: str) -> None:
        """It is sent now, or refused."""
        self._held -= 1
        self._changed_at = time.monotonic()
        if (request := self._open.get(id)) is not None:
            request.since = self._changed_at

    def refused(self, url: str, why: str) -> None:
        """The request was not sent."""
        self.uncount(url)
        if len(self.failed) < MOST_FAILED:
            self.failed.append((url, why))

    async def quiet(self, most_s: float) -> None:
        """Returns when nothing was requested for a moment, and in any case after `most_s`."""
        ends = time.monotonic() + most_s
        while (now := time.monotonic()) < ends:
            is_busy = self._held or any(now - each.since < POLL_AFTER_S for each in self._open.values())
            if not is_busy and now - self._changed_at >= QUIET_S:
                return
            await asyncio.sleep(0.03)

    async def collect_calls(self) -> None:
        """Waits for the bodies of calls that have ended."""
        if self._bodies:
            await asyncio.wait(self._bodies)

    def close(self) -> None:
        for task in self._bodies:
            task.cancel()

    def _sent(self, params: Params) -> None:
        url = params["request"]["url"]
        if not url.startswith(_WIRE):
            return
        self._changed_at = time.monotonic()
        self.requests[_host(url)] += 1
        is_call = params.get("type") in _CALL_TYPES
        started_at = params.get("wallTime") or time.time()
        self._open[params["requestId"]] = _Open(
            url, time.monotonic(), started_at, params["request"] if is_call else {}, is_call=is_call
        )

    def _answered(self, params: Params) -> None:
        request = self._open.get(params["requestId"])
        if request is not None and request.is_call:
            request.response = params["response"]

    def _finished(self, params: Params) -> None:
        request = self._ended(params)
        if request is None or request.response is None or len(self._bodies) + len(self.calls) >= MOST_CALLS:
            return
        if params.get("encodedDataLength", 0) <= MOST_CALL_BYTES:
            task = asyncio.get_running_loop().create_task(self._take_call(params["requestId"], request))
            self._bodies.add(task)
            task.add_done_callback(self._bodies.discard)

    def _failed(self, params: Params) -> None:
        request = self._ended(params)
        was_blocked = params.get("canceled") or params.get("blockedReason") == "inspector"
        if request is not None and not was_blocked and len(self.failed) < MOST_FAILED:
            self.failed.append((request.url, params.get("errorText", "")))

    def _ended(self, params: Params) -> _Open | None:
        self._changed_at = time.monotonic()
        return self._open.pop(params["requestId"], None)

    async def _take_call(self, id: str, request: _Open) -> None:
        try:
            answer = await self._session.call("Network.getResponseBody", requestId=id)
        except DevToolsError:
            return
        body = (
            base64.b64decode(answer["body"]) if answer["base64Encoded"] else answer["body"].encode("utf-8", "replace")
        )
        self._call_bytes += len(body)
        if len(body) <= MOST_CALL_BYTES and self._call_bytes <= MOST_CALLS_BYTES:
            self.calls.append(_call(request, body))


def _host(url: str) -> str:
    return host_of(url if url.count("/") > 2 else f"{url}/")


def _call(request: _Open, body: bytes) -> PageCall:
    assert request.response is not None
    response, sent = request.response, request.request
    headers = {name.lower(): str(value).replace("\n", ", ") for name, value in response["headers"].items()}
    # The body is decompressed, and text is UTF-8.
    for name in ("content-encoding", "content-length", "transfer-encoding"):
        headers.pop(name, None)
    lines = (f"HTTP/1.1 {response['status']} {response.get('statusText', '')}".rstrip(), *_lines(headers), "", "")
    shown = {name: value for name, value in sent["headers"].items() if name.lower() in OPEN_HEADERS}
    path = request.url.split("/", 3)[3] if request.url.count("/") > 2 else ""
    asked = (f"{sent['method']} /{path} HTTP/1.1", f"Host: {request.url.split('/', 3)[2]}", *_lines(shown), "", "")
    return PageCall(
        url=request.url,
        method=sent["method"],
        status=response["status"],
        content_type=headers.get("content-type", ""),
        body=body,
        head="\r\n".join(lines).encode("latin-1", "replace"),
        request="\r\n".join(asked).encode("latin-1", "replace"),
        started_at=request.started_at,
    )


def _lines(headers: dict[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items()]
