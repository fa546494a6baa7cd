"""A page that Playwright drives, for callbacks that need more than steps.

It gets a browser of its own, behind the same barriers as all others: Playwright sees every page of the browser that it
is connected to, and must not see those of other requests. Playwright speaks WebSocket and the browser has a pipe, so
their messages are passed on. Browser, proxy and Playwright's own process end with the visit.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shoal.browser.browser_cookies import changes, log_lost_cookies, named_cookies, to_browser
from shoal.browser.browser_process import BrowserProcess
from shoal.browser.devtools import BrowserGone
from shoal.browser.main_document import is_html
from shoal.browser.navigation_errors import navigation_failure
from shoal.browser.page_failure import PageFailed
from shoal.browser.response_body import decoded_headers
from shoal.browser.socks_proxy import SocksProxy
from shoal.browser.websocket_server import WebSocketServer
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.decode_body import most_unpacked_bytes
from shoal.fetch.exchange import REDIRECTS, RENDERED_TYPE, Exchange, FailureKind, Headers
from shoal.fetch.rendered_page import RenderedPage
from shoal.fetch.subresource_rules import SubresourceRules
from shoal.model.rendering import STEP_LIMIT_S, Rendering
from shoal.urls import host_of

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Error, Request, Response, Route
    from playwright.async_api import Page as Tab

CLOSE_S = 5.0
_INSTALL = "a request with playwright=True needs Playwright: pip install 'shoal[playwright]'"
_CALLS = ("xhr", "fetch", "eventsource", "ping", "document")


class PlaywrightVisit:
    """Use `load`, then `exchange`, and in any case `aclose`."""

    def __init__(
        self,
        process: BrowserProcess,
        call: Fetch,
        proxy: SocksProxy,
        agent: str,
        insecure: bool,
        rules: SubresourceRules | None,
    ) -> None:
        self._process = process
        self._call = call
        self._proxy = proxy
        self._agent = agent
        self._insecure = insecure
        self._rendering = call.rendering or Rendering()
        self._rules = rules
        self._ending = AsyncExitStack()
        self._cookies: list[str] = []
        self._failed: list[tuple[str, str]] = []
        self._requests: Counter[str] = Counter()
        self._has_begun = False
        self._context: BrowserContext
        self.tab: Tab
        self.html = b""

    async def load(self, proxy_url: str) -> None:
        """Raises PageFailed, and BrowserGone if the browser was lost."""
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as error:
            raise PageFailed(FailureKind.NO_PLAYWRIGHT, _INSTALL) from error
        try:
            await self._open(async_playwright, proxy_url)
            response = await self._go()
        except Error as error:
            raise self._not_loaded(error) from error
        try:
            await self._read(response)
        except Error as error:
            # A script may have led elsewhere meanwhile, or closed the tab.
            self._check_browser()
            raise PageFailed(FailureKind.RENDER, f"the page was lost before it was read: {_words(error)}") from error

    def _check_browser(self) -> None:
        if not self._process.is_running:
            raise BrowserGone("the browser has ended")

    def _not_loaded(self, error: Error) -> PageFailed:
        self._check_browser()
        if "Timeout" in error.message:
            return PageFailed(FailureKind.TIMEOUT, f"no page within {self._call.deadline_s:g} s")
        return navigation_failure(_words(error), self._call.url, self._proxy.traffic)

    async def _go(self) -> Response:
        began = time.monotonic()
        response = await self.tab.goto(self._call.url, timeout=1000 * self._call.deadline_s)
        if response is None:
            raise PageFailed(FailureKind.RENDER, "the page has no answer of its own")
        self._latency_s = time.monotonic() - began
        self.html = (await self.tab.content()).encode("utf-8", "replace")
        if len(self.html) > most_unpacked_bytes(self._call):
            raise PageFailed(FailureKind.TOO_LARGE, f"the rendered page has {len(self.html):,} bytes")
        return response

    async def _read(self, last: Response) -> None:
        """All that is asked of the browser, so that `exchange` cannot fail when the page goes away."""
        self._response = response = await _first_of(last)
        self._sent = Headers([(field["name"], field["value"]) for field in await response.headers_array()])
        self._raw = b"" if response.status in REDIRECTS else await response.body()

    def exchange(self, started_at: float) -> Exchange:
        response, sent, raw = self._response, self._sent, self._raw
        headers = decoded_headers(sent)
        is_shown = is_html(sent) and not (response.status in REDIRECTS and "location" in sent)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        if is_shown:
            kept = [(name, value) for name, value in headers if name.lower() != "content-type"]
            headers = Headers([*kept, ("Content-Type", RENDERED_TYPE)])
        return Exchange(
            url=self._call.url,
            status=response.status,
            reason=response.status_text,
            headers=headers,
            head=f"HTTP/1.1 {response.status} {response.status_text}\r\n{lines}\r\n".encode("latin-1", "replace"),
            raw=raw,
            body=self.html if is_shown else raw,
            version="1.1",
            ip=self._proxy.traffic.addresses.get(urlsplit(self._call.url).hostname or "", ""),
            latency_s=self._latency_s,
            started_at=started_at,
            rendered=self._rendered(raw) if is_shown else None,
        )

    async def aclose(self) -> None:
        """Gives the job its cookies, and ends everything."""
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._take_cookies()
        except Exception as error:
            # Whatever Playwright raises: the rest must be closed.
            log_lost_cookies(self._call.url, error)
        await self._ending.aclose()

    def _rendered(self, raw: bytes) -> RenderedPage:
        return RenderedPage(
            url=self.tab.url,
            document=raw,
            failed_requests=self._failed,
            # It still grows while the callback has the page, and the host is charged for that too.
            requests=self._requests,
            wire_bytes=self._proxy.traffic.bytes,
            playwright=self.tab,
        )

    async def _open(self, start: Callable[[], Any], proxy_url: str) -> None:
        server = WebSocketServer(self._process.devtools.pass_on)
        self._process.devtools.forward(server.send)
        self._ending.callback(server.close)
        self._ending.callback(asyncio.ensure_future(self._end_with_browser(server)).cancel)
        playwright = await start().start()
        self._ending.push_async_callback(_within, playwright.stop)
        browser = await playwright.chromium.connect_over_cdp(await server.listen())
        self._context = await browser.new_context(proxy={"server": proxy_url}, **self._context_options())
        self._context.on("request", self._count)
        self.tab = await self._context.new_page()
        self.tab.set_default_timeout(1000 * STEP_LIMIT_S)
        # Not the URL: as a pattern, `*` and `{` mean something else. The first request of all is the document's.
        await self._context.route("**/*", self._send, times=None if self._rules is not None else 1)
        await self._give_cookies()

    async def _end_with_browser(self, server: WebSocketServer) -> None:
        """Playwright would wait for the answers of a browser that has ended."""
        await self._process.gone.wait()
        server.close()

    def _context_options(self) -> dict[str, Any]:
        viewport, call = self._rendering.viewport, self._call
        user, _, password = call.credentials.partition(":")
        options: dict[str, Any] = {
            "user_agent": self._agent,
            "viewport": {"width": viewport.width, "height": viewport.height},
            "is_mobile": viewport.is_mobile,
            "has_touch": viewport.is_mobile,
            "locale": self._rendering.locale or None,
            "timezone_id": self._rendering.time_zone or None,
            "accept_downloads": False,
            "service_workers": "block",
            "ignore_https_errors": self._insecure,
        }
        if call.credentials:
            parts = urlsplit(call.url)
            origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
            options["http_credentials"] = {"username": user, "password": password, "origin": origin}
        return options

    def _count(self, request: Request) -> None:
        if request.url.startswith(("http:", "https:")):
            self._requests[host_of(request.url if request.url.count("/") > 2 else f"{request.url}/")] += 1

    async def _send(self, route: Route) -> None:
        """The request's own headers go with the document only, and only once."""
        request = route.request
        if not self._has_begun and request.is_navigation_request() and request.frame == self.tab.main_frame:
            self._has_begun = True
            call = self._call
            own = {**call.headers, **({"Content-Type": call.content_type} if call.body else {})}
            headers = {**request.headers, **{name.lower(): value for name, value in own.items()}}
            sent = {name: value for name, value in headers.items() if value}
            await route.continue_(method=call.method, headers=sent, post_data=call.body or None)
        elif why := await self._refusal(request):
            self._failed.append((request.url, why))
            await route.abort("blockedbyclient")
        else:
            await route.continue_()

    async def _refusal(self, request: Request) -> str | None:
        is_call = request.resource_type in _CALLS
        if self._rules is None or not (is_call or self._rules.for_assets) or not request.url.startswith("http"):
            return None
        return await self._rules.refusal(request.url, is_call)

    async def _give_cookies(self) -> None:
        call, jar = self._call, self._call.jar
        self._cookies = jar.lines_for(urlsplit(call.url).hostname or "") if jar is not None else []
        given = to_browser(self._cookies) + named_cookies(call.cookies, call.url)
        session = await self._context.new_cdp_session(self.tab)
        for cookie in given:
            # A browser that refuses one of several cookies takes none, and a site may choose any.
            with suppress(Exception):
                await session.send("Network.setCookie", cookie)

    async def _take_cookies(self) -> None:
        jar = self._call.jar
        if jar is None or not self._has_begun:
            return
        found: list[Any] = await self._context.cookies()
        own = {cookie["name"] for cookie in named_cookies(self._call.cookies, self._call.url)}
        jar.set_lines(changes(self._cookies, [each for each in found if each["name"] not in own]))


async def _first_of(response: Response) -> Response:
    """The answer to our request: a redirect is an answer."""
    request = response.request
    while request.redirected_from is not None:
        request = request.redirected_from
    return (await request.response()) or response


def _words(error: Error) -> str:
    """The first line, without the name of the call and its log."""
    return str(error.message).partition(" at ")[0].removeprefix("Page.goto: ").splitlines()[0]


async def _within(stop: Callable[[], Any]) -> None:
    """Playwright waits for its own process, which may no longer answer."""
    with suppress(Exception):
        async with asyncio.timeout(CLOSE_S):
            await stop()
