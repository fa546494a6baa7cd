"""A browser as a fetcher: `async fetch(Fetch) -> Exchange | Failure`.

Each page has a browser context, a tab and a proxy of its own. They are disposed of however the visit ends.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from shoal.browser.asset_cache import AssetCache
from shoal.browser.browser_cookies import named_cookies, take_cookies, to_browser
from shoal.browser.browser_pool import BrowserPool
from shoal.browser.browser_process import LAUNCH_S, BrowserProcess
from shoal.browser.devtools import BrowserGone, DevToolsError, Session
from shoal.browser.find_browser import BrowserMissing
from shoal.browser.guarded_dial import GuardedDial
from shoal.browser.main_document import DocumentAnswer
from shoal.browser.navigation_errors import navigation_failure
from shoal.browser.page_failure import PageCrashed, PageFailed
from shoal.browser.page_visit import PageVisit
from shoal.browser.response_body import decoded_headers
from shoal.browser.socks_proxy import SocksProxy
from shoal.cpu_wait import answered_in_time, joint_cpu_wait_s, result_in_time
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.dns import DnsResolver
from shoal.fetch.exchange import RENDERED_TYPE, Exchange, Failure, FailureKind, FetchAborted, Headers
from shoal.fetch.rendered_page import RenderedPage
from shoal.fetch.subresource_rules import SubresourceRules
from shoal.model.rendering import ACTS, Rendering
from shoal.telemetry import EventLogger

SALVAGE_S, SALVAGE_MOST_S = 3.0, 20.0
"""Without waits for a processor, and with them."""
DISPOSE_S, DISPOSE_MOST_S = 5.0, 30.0
"""Likewise: to end a browser costs its other pages, and a start."""
ASSET_BYTES = 30_000_000
"""What a page may bring over the wire besides its document."""
UNFINISHED = "the page was still busy when its time ended"

log = EventLogger(__name__)


class BrowserFetcher:
    """For one job: its guard, its name, its scripts. The browser itself is shared."""

    def __init__(
        self,
        pool: BrowserPool,
        agent: str,
        guard: AddressGuard,
        names: DnsResolver | None = None,
        insecure: bool = False,
    ) -> None:
        self.pool = pool
        self._agent = agent
        self._guard = guard
        self._names = names or DnsResolver()
        self._insecure = insecure
        self._assets = AssetCache()

    async def fetch(self, call: Fetch, rules: SubresourceRules | None = None) -> Exchange | Failure:
        """Call it within a slot of the pool. `rules` are for what the page requests. Raises FetchAborted if the browser
        was lost through another page or does not start again, and BrowserMissing if none ever started."""
        if urlsplit(call.url).scheme not in ("http", "https"):
            return Failure(FailureKind.PROTOCOL, "a browser opens only http and https", 0.0)
        if not self._guard.allows_target(call.url):
            return Failure(FailureKind.ADDRESS_REFUSED, self._guard.refusal, 0.0)
        if self.pool.is_to_blame(call.url):
            return Failure(FailureKind.RENDER, "the browser was lost each time that it loaded the page", 0.0)
        try:
            if call.rendering is not None and call.rendering.playwright:
                return await self._fetch_with_playwright(call, rules)
            async with self.pool.browser(call.url) as process:
                return await self._fetch_in(process, call, rules)
        except BrowserGone as error:
            raise FetchAborted("the browser ended while the page was open") from error
        except DevToolsError as error:
            return Failure(FailureKind.RENDER, f"the browser refused: {error}", 0.0)
        except BrowserMissing as missing:
            if not self.pool.started:
                raise
            # The pool takes no more pages for a while.
            raise FetchAborted(str(missing)) from missing

    async def aclose(self) -> None:
        await self._names.aclose()

    async def _fetch_in(
        self, process: BrowserProcess, call: Fetch, rules: SubresourceRules | None
    ) -> Exchange | Failure:
        listener = process.take_listener()
        if listener is None:
            raise FetchAborted("too many pages are still being closed")
        proxy = self._way_out(call)
        visit = PageVisit(process, call, call.rendering or Rendering(), self._agent, self._assets)
        visit.insecure, visit.rules = self._insecure, rules
        context = ""
        try:
            made = await process.browser.call(
                "Target.createBrowserContext",
                disposeOnDetach=True,
                proxyServer=await proxy.listen(listener),
                proxyBypassList="<-loopback>",
            )
            context = made["browserContextId"]
            return await self._visit(visit, context, proxy)
        finally:
            # Even if this task is cancelled: nothing of the page may stay.
            await asyncio.shield(self._close(visit, context, proxy, listener))

    def _way_out(self, call: Fetch) -> SocksProxy:
        """Of one page: all that it requests goes through it."""
        dial = GuardedDial(self._guard, self._names, call.proxy, call.remote_dns)
        return SocksProxy(dial, call.max_bytes + ASSET_BYTES)

    async def _fetch_with_playwright(self, call: Fetch, rules: SubresourceRules | None) -> Exchange | Failure:
        # Imported here only: few jobs need it.
        from shoal.browser.playwright_visit import PlaywrightVisit

        began, started_at = time.monotonic(), time.time()
        async with AsyncExitStack() as ending:
            process = await ending.enter_async_context(self.pool.own_browser(call.url))
            listener = process.take_listener()
            assert listener is not None
            ending.callback(process.return_listener, listener)
            proxy = self._way_out(call)
            ending.callback(proxy.close)
            visit = PlaywrightVisit(process, call, proxy, self._agent, self._insecure, rules)
            ending.push_async_callback(visit.aclose)
            try:
                async with asyncio.timeout(call.deadline_s + LAUNCH_S):
                    await visit.load(await proxy.listen(listener))
                    answer = visit.exchange(started_at)
            except PageFailed as failed:
                return Failure(failed.kind, str(failed), time.monotonic() - began)
            except TimeoutError:
                return Failure(FailureKind.TIMEOUT, f"no page within {call.deadline_s:g} s", time.monotonic() - began)
            if answer.rendered is not None:
                answer.rendered.ending = ending.pop_all()
        return answer

    async def _close(self, visit: PageVisit, context: str, proxy: SocksProxy, listener: socket.socket) -> None:
        process = visit.process
        visit.close()
        proxy.close()
        try:
            if context:
                disposal = process.browser.call("Target.disposeBrowserContext", browserContextId=context)
                if not await answered_in_time(
                    disposal, DISPOSE_S, DISPOSE_MOST_S, partial(joint_cpu_wait_s, process.pid)
                ):
                    self.pool.lose(process, visit.call.url)
                await disposal
        except DevToolsError:
            # The browser has ended.
            pass
        finally:
            # Only now: nothing of this page can connect to it any more.
            process.return_listener(listener)

    async def _visit(self, visit: PageVisit, context: str, proxy: SocksProxy) -> Exchange | Failure:
        call, browser = visit.call, visit.process.browser
        began, started_at = time.monotonic(), time.time()
        cookies = call.jar.lines_for(urlsplit(call.url).hostname or "") if call.jar is not None else []
        given = to_browser(cookies) + named_cookies(call.cookies, call.url)
        try:
            await browser.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=context)
            await _give_cookies(browser, context, given)
            await self._load_in_time(visit, context, proxy)
        except PageFailed as failed:
            wants_repeat = isinstance(failed, PageCrashed) and _may_be_repeated(call)
            return Failure(failed.kind, str(failed), time.monotonic() - began, wants_repeat)
        await take_cookies(browser, context, call, cookies, partial(joint_cpu_wait_s, visit.process.pid))
        return _exchange(visit, proxy, started_at)

    async def _load_in_time(self, visit: PageVisit, context: str, proxy: SocksProxy) -> None:
        """Raises PageFailed."""
        try:
            async with asyncio.timeout(visit.call.deadline_s):
                await _unless_dead(visit, _load(visit, context, proxy))
        except TimeoutError:
            await _salvage(visit)
        except BrowserGone:
            raise
        except DevToolsError as error:
            raise PageFailed(FailureKind.RENDER, f"the browser refused: {error}") from error
        if proxy.traffic.is_over:
            raise PageFailed(FailureKind.TOO_LARGE, f"the page brought more than {proxy.most_bytes:,} bytes")


def _may_be_repeated(call: Fetch) -> bool:
    """Not what may have changed something on the site."""
    steps = call.rendering.steps if call.rendering is not None else ()
    return call.method == "GET" and not any(step.name in ACTS for step in steps)


async def _give_cookies(browser: Session, context: str, given: list[dict[str, Any]]) -> None:
    """A browser that refuses one of several cookies takes none, and a site may choose any. So each gets its own try."""
    if not given:
        return
    try:
        await browser.call("Storage.setCookies", cookies=given, browserContextId=context)
    except BrowserGone:
        raise
    except DevToolsError:
        for cookie in given:
            try:
                await browser.call("Storage.setCookies", cookies=[cookie], browserContextId=context)
            except BrowserGone:
                raise
            except DevToolsError:
                continue


async def _load(visit: PageVisit, context: str, proxy: SocksProxy) -> None:
    await visit.open(context)
    error = await visit.load()
    answer = visit.document.answer
    if answer is None or (answer.is_shown and error and not visit.is_committed):
        raise navigation_failure(error or visit.document.error, visit.call.url, proxy.traffic)
    if answer.is_shown:
        await visit.work()
    visit.is_done = True


async def _salvage(visit: PageVisit) -> None:
    """Takes what there is of a page that is not done in time. Raises PageFailed."""
    limit = f"the time limit of {visit.call.deadline_s:g} s"
    if visit.current_step:
        raise PageFailed(FailureKind.STEP, f"{limit} ended in {visit.current_step}")
    if not visit.is_committed:
        raise PageFailed(FailureKind.TIMEOUT, f"no answer within {limit}")
    try:
        work, waited_s = _unless_dead(visit, visit.salvage()), partial(joint_cpu_wait_s, visit.process.pid)
        await result_in_time(work, SALVAGE_S, SALVAGE_MOST_S, waited_s)
    except BrowserGone:
        raise
    except (TimeoutError, DevToolsError):
        raise PageFailed(FailureKind.TIMEOUT, f"the page did not come to rest within {limit}") from None
    visit.is_unfinished = True


async def _unless_dead(visit: PageVisit, work: Coroutine[Any, Any, None]) -> None:
    """Raises what ended the page, or BrowserGone: an answer that is waited for may never come."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(visit.process.gone.wait())
    try:
        waited: set[asyncio.Future[Any]] = {task, gone, visit.dead}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if visit.dead.done():
            visit.dead.result()
        if not task.done():
            raise BrowserGone("the browser has ended")
        task.result()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


def _exchange(visit: PageVisit, proxy: SocksProxy, started_at: float) -> Exchange:
    answer, document = visit.document.answer, visit.document
    assert answer is not None
    lines = "".join(f"{name}: {value}\r\n" for name, value in decoded_headers(answer.headers))
    head = f"HTTP/1.1 {answer.status} {answer.reason}\r\n{lines}\r\n".encode("latin-1", "replace")
    return Exchange(
        url=visit.call.url,
        status=answer.status,
        reason=answer.reason,
        headers=_headers(answer),
        head=head,
        raw=answer.raw,
        body=visit.html if answer.is_shown else answer.raw,
        version="1.1",
        ip=proxy.traffic.addresses.get(urlsplit(visit.call.url).hostname or "", ""),
        latency_s=document.latency_s,
        started_at=started_at,
        fault=UNFINISHED if visit.is_unfinished else None,
        rendered=_rendered(visit, proxy) if answer.is_shown else None,
    )


def _headers(answer: DocumentAnswer) -> Headers:
    """They tell how to read the body, which is UTF-8 if the browser made it."""
    headers = decoded_headers(answer.headers)
    if not answer.is_shown:
        return headers
    kept = [(name, value) for name, value in headers if name.lower() != "content-type"]
    return Headers([*kept, ("Content-Type", RENDERED_TYPE)])


def _is_same_page(one: str, other: str) -> bool:
    """A page that only reloads itself leads nowhere."""
    return one.partition("#")[0] == other.partition("#")[0]


def _rendered(visit: PageVisit, proxy: SocksProxy) -> RenderedPage:
    network = visit.network
    return RenderedPage(
        url=visit.url,
        document=visit.document.answer.raw if visit.document.answer else b"",
        leads_to="" if _is_same_page(visit.document.leads_to, visit.url) else visit.document.leads_to,
        calls=network.calls,
        console_errors=visit.console_errors,
        failed_requests=network.failed,
        pictures=visit.pictures,
        requests=+network.requests,
        wire_bytes=proxy.traffic.bytes,
        timings=visit.timings,
    )
