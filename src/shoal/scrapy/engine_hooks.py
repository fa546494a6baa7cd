"""Hooks into Scrapy's engine, for what no signal tells: which request found another, and when a request is done.

A request is done when its callback or errback has ended and all pipelines are through with its items, or when a
downloader middleware has returned another request in its place.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any

from pydispatch import dispatcher
from scrapy import Request, signals
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.extensions.throttle import AutoThrottle
from scrapy.utils.asyncgen import as_async_generator

from shoal.engine.leasing.start_times import StartTimes
from shoal.model import Landing
from shoal.scrapy.cookie_jars import CookieJars
from shoal.scrapy.download_gate import DownloadGate
from shoal.scrapy.held_request import SPIDER_ERROR, HeldRequest, failure_kind
from shoal.scrapy.outbox import Outbox
from shoal.scrapy.pipeline import Pipeline, item_record
from shoal.scrapy.request_json import host_of
from shoal.scrapy.spider_output import output_handler
from shoal.store.archive.warc import digest

_UNLIMITED = {"concurrency": 10_000, "delay": 0.0, "jitter": 0.0, "randomize_delay": False}


class EngineHooks:
    def __init__(
        self,
        crawler: Any,
        outbox: Outbox,
        jars: CookieJars,
        done: Callable[[HeldRequest], None],
        is_known: Callable[[Any], bool],
        hurry: Callable[[], None],
    ) -> None:
        """Calls `done` with each request that is done. `is_known` filters a duplicate, and counts it. `hurry` is called
        when a request past the scheduler needs a lease."""
        self._crawler = crawler
        self._outbox = outbox
        self._jars = jars
        self._done = done
        self._is_known = is_known
        self.held: dict[Any, HeldRequest] = {}
        """The leased requests that Scrapy works on."""
        self.received = 0
        """How many of them have their response: they are in a callback or a pipeline."""
        self.starts = StartTimes()
        self.gate = DownloadGate(self.held, self.starts, outbox, hurry)
        self.parents: dict[Any, HeldRequest] = {}
        """Requests that a callback has just yielded, until they reach the scheduler."""
        # An ITEM_PROCESSOR of the project may have none.
        middlewares = getattr(crawler.engine.scraper.itemproc, "middlewares", ())
        self._keeps_items = any(isinstance(each, Pipeline) for each in middlewares)

    def install(self) -> None:
        engine = self._crawler.engine
        self._hook_completion(engine._slot)
        self._hook_callbacks(engine.scraper)
        self._hook_downloader(engine.downloader)
        connect = self._crawler.signals.connect
        connect(self._response_downloaded, signals.response_downloaded)
        connect(self._response_received, signals.response_received)
        connect(self._spider_error, signals.spider_error)
        connect(self._item_scraped, signals.item_scraped)
        if hasattr(signals, "robots_parsed"):
            connect(self._robots_parsed, signals.robots_parsed)
        throttle = next((each for each in self._crawler.extensions.middlewares if isinstance(each, AutoThrottle)), None)
        if throttle is not None:
            # Its delays would come on top of the frontier's, in each process.
            self._crawler.signals.disconnect(throttle._response_downloaded, signals.response_downloaded)

    def _hook_completion(self, slot: Any) -> None:
        remove = slot.remove_request

        def remove_request(request: Any) -> None:
            held = self.held.pop(request, None)
            if held is not None:
                self.received -= held.received
                self._forget_found(held)
                self._done(held)
            remove(request)

        slot.remove_request = remove_request

    def _hook_callbacks(self, scraper: Any) -> None:
        call, handle = scraper.call_spider_async, output_handler(scraper, self._crawler.engine)

        async def call_spider_async(result: Any, request: Any) -> Any:
            output = await call(result, request)
            if request in self.held:
                self.held[request].called = True
            return output

        async def handle_spider_output_async(result: Any, request: Any, response: Any) -> Any:
            held = self.held.get(request)
            if held is not None:
                output = result if hasattr(result, "__aiter__") else as_async_generator(result)
                result = self._noted(output, held)
            return await handle(result, request, response)

        scraper.call_spider_async = call_spider_async
        scraper.handle_spider_output_async = handle_spider_output_async

    def _note_parent(self, request: Any, held: HeldRequest) -> None:
        self.parents[request] = held
        held.found.append(request)

    def _forget_found(self, held: HeldRequest) -> None:
        """Some never reach the scheduler: the offsite middleware drops them before."""
        for request in held.found:
            self.parents.pop(request, None)
        held.found.clear()

    async def _noted(self, output: AsyncIterable[Any], held: HeldRequest) -> AsyncIterator[Any]:
        # Most links of a page are known. Two signals for each would be a seventh of the cost of a page.
        skips = not tells_of_duplicates(self._crawler.signals)
        async for each in output:
            if isinstance(each, Request):
                if skips and self._is_known(each):
                    continue
                self._note_parent(each, held)
            yield each

    def _hook_downloader(self, downloader: Any) -> None:
        """The frontier times all starts, for all processes."""
        self.gate.install(downloader)
        downloader.per_slot_settings = _SlotSettings()
        downloader.middleware.methods["process_exception"].appendleft(self._process_exception)

    def _response_downloaded(self, response: Any, request: Any) -> None:
        self._jars.notice(response)
        held = self.held.get(request)
        if held is None:
            return
        held.latency_s = request.meta.get("download_latency", 0.0)
        held.landed, held.status, held.bytes = True, response.status, len(response.body)
        held.content_type = response.headers.get(b"Content-Type", b"").decode("latin1").partition(";")[0].strip()
        if (landing := self.gate.landing(held, response)) is not None:
            self._outbox.land(landing)

    def _process_exception(self, request: Any, exception: BaseException, spider: Any = None) -> None:
        held = self.held.get(request)
        if held is None or held.landed:
            return
        held.detail = f"{type(exception).__name__}: {exception}"
        if isinstance(exception, IgnoreRequest):
            held.ignored = "robots" if "robots.txt" in str(exception) else ""
        elif "download_slot" in request.meta:
            held.landed, held.failure = True, failure_kind(exception)
            if not held.slot_left:
                seconds = max(0.0, time.monotonic() - held.start_at)
                self._outbox.land(Landing(held.lease.token, seconds, None, held.failure))

    def _response_received(self, response: Any, request: Any) -> None:
        held = self.held.get(request)
        if held is not None:
            self.received += not held.received
            held.received, held.status, held.bytes = True, response.status, len(response.body)
            held.digest = digest(response.body)

    def _spider_error(self, failure: Any, response: Any) -> None:
        held = self.held.get(getattr(response, "request", None))
        if held is not None:
            held.failure, held.detail = SPIDER_ERROR, f"{failure.type.__name__}: {failure.getErrorMessage()}"

    def _item_scraped(self, item: Any, response: Any) -> None:
        held = self.held.get(getattr(response, "request", None))
        if held is not None and self._keeps_items:
            held.items.append(item_record(item))

    def _robots_parsed(self, robotparser: Any, request: Any) -> None:
        rules: Any = getattr(robotparser, "rp", None)
        agent = self._crawler.settings["ROBOTSTXT_USER_AGENT"] or self._crawler.settings["USER_AGENT"]
        delay = getattr(rules, "crawl_delay", lambda agent: None)(agent)
        self._outbox.slow_down(host_of(request.url), float(delay or 0.0))


def tells_of_duplicates(sent: Any) -> bool:
    """Whether anybody listens to what Scrapy tells of requests that turn out to be duplicates. `sent`: the signals of a
    crawler."""
    told, dropped = (_receivers(sent, signal) for signal in (signals.request_scheduled, signals.request_dropped))
    return bool(dropped) or any(not isinstance(each, OffsiteMiddleware) for each in told)


def _receivers(sent: Any, signal: Any) -> list[Any]:
    live = dispatcher.liveReceivers(dispatcher.getAllReceivers(sent.sender, signal))
    return [getattr(each, "__self__", each) for each in live]


class _SlotSettings(dict[str, Any]):
    """In the place of DOWNLOAD_SLOTS: Scrapy's own slots delay nothing."""

    def get(self, key: str, default: Any = None) -> Any:
        return _UNLIMITED
