"""The scheduler: Scrapy's requests are in Shoal's frontier, leased, and completed when they are done.

The engine's three questions are answered from memory. A thread of its own talks to the frontier.
"""

from __future__ import annotations

import logging
import sys
import time
from heapq import heappop, heappush
from typing import Any

from scrapy.core.scheduler import BaseScheduler
from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred

from shoal.frontier.recent_offers import RecentOffers
from shoal.model import JobState, Lease, Trail
from shoal.scrapy.cookie_jars import CookieJars
from shoal.scrapy.crawl_job import open_crawl
from shoal.scrapy.download_slots import slot_warnings
from shoal.scrapy.dupefilter import own_filter
from shoal.scrapy.engine_hooks import EngineHooks
from shoal.scrapy.fingerprints import Fingerprints
from shoal.scrapy.frontier_thread import FrontierThread
from shoal.scrapy.group_requests import FoundRequest, whole_fields
from shoal.scrapy.held_request import SPIDER_ERROR, UNREADABLE, HeldRequest
from shoal.scrapy.json_values import NotSerializable
from shoal.scrapy.outbox import Outbox
from shoal.scrapy.project import runs_page_command
from shoal.scrapy.project_settings import crawl_plan, shoal_settings
from shoal.scrapy.request_json import TOKEN, WHOLE, PackedRequest, pack, unpack

INTERRUPTIONS = ("finished", "shutdown", "memusage_exceeded")
"""Reasons of a closed spider that do not end its job: started again, it continues."""
log = logging.getLogger("shoal.scrapy")


class Scheduler(BaseScheduler):
    @classmethod
    def from_crawler(cls, crawler: Any) -> Any:
        if runs_page_command(sys.orig_argv):
            # It must not join the spider's job, and its callbacks are functions, which no frontier can keep.
            return ScrapyScheduler.from_crawler(crawler)
        return cls(crawler)

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._stats = crawler.stats
        self._most = crawler.settings.getint("CONCURRENT_REQUESTS") or 1_000
        self._idle_s = crawler.settings.getfloat("SCHEDULER_IDLE_BEFORE_CLOSE")
        self._filters, self._own_filter = own_filter(crawler)
        self._fingerprints = Fingerprints(crawler.request_fingerprinter)
        self._outbox = Outbox()
        self._recent = RecentOffers()
        self._ready: list[tuple[float, int, Lease]] = []
        self._by_token: dict[int, HeldRequest] = {}
        self._after_offers: list[tuple[int, Any]] = []
        self._rests = False
        self._rests_since: float | None = None
        self._timer: Any = None
        self._is_open = False

    def open(self, spider: Any) -> Any:
        self._spider = spider
        settings, plan = shoal_settings(self._crawler.settings), crawl_plan(self._crawler.settings, spider)
        for path in self._crawler.settings.getlist("SHOAL_REQUEST_CLASSES"):
            load_object(path)
        engine = self._crawler.engine
        self._slot = engine._slot
        self._jars = CookieJars(engine)
        for warning in slot_warnings(self._crawler.settings.getdict("DOWNLOAD_SLOTS")):
            log.warning("%s", warning)
        self._hooks = EngineHooks(self._crawler, self._outbox, self._jars, self._end, self._is_known, self._hurry_now)
        self._hooks.install()
        if self._own_filter is not None:
            self._own_filter.open()
        self._opened: Any = Deferred()
        self._closed: Any = Deferred()
        self._thread = FrontierThread(self, self._outbox, lambda: open_crawl(settings, plan))
        self._thread.start()
        self._is_open = True
        return self._opened

    def close(self, reason: str) -> Any:
        if not self._is_open:
            # Scrapy closes it also if it could not be opened.
            return None
        state, words = JobState.INTERRUPTED, None
        if reason not in INTERRUPTIONS and not self._crawler.settings["JOBDIR"]:
            state, words = JobState.LIMITED, f"Scrapy closed the spider: {reason}"
        self._thread.close(state, words)
        if self._own_filter is not None:
            self._closed.addCallback(lambda _: self._own_filter.close(reason))
        return self._closed

    def when_offered(self, act: Any) -> None:
        """Calls `act` once all requests that were scheduled so far are in the frontier."""
        self._after_offers.append((self._outbox.activity, act))
        self._thread.hurry()

    # What the engine asks.

    def has_pending_requests(self) -> bool:
        return not self._rests or bool(self._ready)

    def enqueue_request(self, request: Any) -> bool:
        parent = self._hooks.parents.pop(request, None)
        replaced = self._replaced(request) if parent is None else None
        origin = parent or replaced
        if replaced is not None and replaced.line == (request.method, request.url, request.body):
            return self._retry(request, replaced)
        found = self._fingerprint(request, origin)
        if replaced is not None:
            replaced.redirect = (request.url, found)
        # Before the request is packed: most links of a page are known.
        if self._is_recent(found) or self._is_filtered(request):
            self._stats.inc_value("dupefilter/filtered")
            return False
        packed = self._packed(request, origin)
        if packed is None:
            return False
        self._offer(
            FoundRequest(packed, found, None if origin is None else origin.fingerprint), has_origin=bool(origin)
        )
        return True

    def next_request(self) -> Any:
        now = time.monotonic()
        while self._ready:
            start_at = self._ready[0][0]
            if start_at > now:
                self._wake_at(start_at - now)
                return None
            lease = heappop(self._ready)[2]
            held = self._by_token[lease.token]
            if lease.gap_s and (early_s := self._hooks.starts.early_s(lease.target.host, lease.gap_s)) > 0:
                # This process is behind the plan: its late starts must keep the gap all the same.
                heappush(self._ready, (now + early_s, lease.token, lease))
                continue
            request = self._unpacked(lease, held)
            if request is not None:
                if lease.gap_s:
                    self._hooks.starts.begin(lease.target.host, lease.gap_s)
                held.given_at = now
                self._hooks.held[request] = held
                self._stats.inc_value("scheduler/dequeued")
                return request
        return None

    def _replaced(self, request: Any) -> HeldRequest | None:
        """The request in whose place a downloader middleware returned this one."""
        held = self._by_token.get(request.meta.get(TOKEN, 0))
        return None if held is None or held.received or held.retry or held.redirect else held

    def _retry(self, request: Any, replaced: HeldRequest) -> bool:
        packed = self._packed(request, replaced)
        if packed is not None:
            replaced.retry = _retry_trail(packed, replaced.lease.trail)
        return packed is not None

    def _packed(self, request: Any, origin: HeldRequest | None) -> PackedRequest | None:
        """None if the request cannot be kept: then the page that led to it becomes a dead letter."""
        try:
            return pack(request, self._spider)
        except NotSerializable as error:
            log.error("%s", error)
            self._stats.inc_value("scheduler/unserializable")
            if origin is not None:
                origin.failure, origin.detail = SPIDER_ERROR, str(error)
            return None

    def _fingerprint(self, request: Any, origin: HeldRequest | None) -> int:
        if self._filters and not request.dont_filter:
            return self._fingerprints.of(request)
        return self._fingerprints.unfiltered(request, None if origin is None else (origin.fingerprint, origin.repeated))

    def _is_recent(self, found: int) -> bool:
        young, old = self._recent.of("")
        return found in young or found in old

    def _is_known(self, request: Any) -> bool:
        """Filters a request of a callback before Scrapy tells everybody of it."""
        if not self._filters or request.dont_filter or not self._is_recent(self._fingerprints.of(request)):
            return False
        self._stats.inc_value("dupefilter/filtered")
        return True

    def _is_filtered(self, request: Any) -> bool:
        own = self._own_filter
        return own is not None and not request.dont_filter and bool(own.request_seen(request))

    def _offer(self, found: FoundRequest, has_origin: bool) -> None:
        self._recent.remember("", [found.fingerprint])
        self._rests, self._rests_since = False, None
        self._outbox.offer(found)
        self._stats.inc_value("scheduler/enqueued")
        # What a callback finds goes with its end.
        if not has_origin:
            self._hurry()

    def _unpacked(self, lease: Lease, held: HeldRequest) -> Any:
        try:
            request = unpack(lease.target, lease.trail.callback, whole_fields(lease), self._spider)
        except Exception as error:
            # A class of the project, or its spider, may have changed since it was queued.
            log.error("%s cannot be made a request again: %s", lease.target.url, error, exc_info=True)
            held.failure, held.detail = UNREADABLE, f"{type(error).__name__}: {error}"
            self._end(held)
            return None
        held.line = (request.method, request.url, request.body)
        request.meta[TOKEN] = lease.token
        return request

    def _end(self, held: HeldRequest) -> None:
        self._by_token.pop(held.lease.token, None)
        if changed := self._jars.changed():
            self._outbox.keep_cookies(changed)
        self._outbox.end(held)
        self._hurry()

    def _hurry(self) -> None:
        """Batches save time, unless the engine has nothing to do meanwhile."""
        if not self._ready and self._unanswered <= self._most // 4:
            self._thread.hurry()

    def _hurry_now(self) -> None:
        self._thread.hurry()

    def _wake_at(self, seconds: float) -> None:
        from twisted.internet import reactor

        if self._timer is not None and self._timer.active():
            if self._timer.getTime() - reactor.seconds() <= seconds:
                return
            self._timer.cancel()
        self._timer = reactor.callLater(seconds, self._slot.nextcall.schedule)

    # What the frontier's thread asks and tells.

    def wanted(self) -> int:
        if self._crawler.engine.paused:
            return 0
        return self._most + max(2, self._most // 4) - self._unanswered

    @property
    def _unanswered(self) -> int:
        """Leases without a response. Scrapy itself limits how many responses callbacks and pipelines may have."""
        return len(self._by_token) - self._hooks.received

    def held_tokens(self) -> list[int]:
        return list(self._by_token)

    def opened(self, error: BaseException | None) -> None:
        if self._thread.crawl is not None:
            self._fingerprints.start_scope = self._thread.crawl.start_scope
            self._fingerprints.as_scrapy_redis = self._thread.crawl.scrapy_redis
        self._in_reactor(self._opened.callback if error is None else self._opened.errback, error)

    def give(self, leases: list[Lease], cookies: dict[str, str]) -> None:
        for lease in leases:
            self._by_token[lease.token] = HeldRequest(lease, time.monotonic() + lease.wait_s)
        self._in_reactor(self._take, leases, cookies)

    def give_inline(self, leases: list[Lease]) -> None:
        self._in_reactor(self._hooks.gate.give, leases)

    def _take(self, leases: list[Lease], cookies: dict[str, str]) -> None:
        self._jars.put(cookies)
        for lease in leases:
            heappush(self._ready, (self._by_token[lease.token].start_at, lease.token, lease))
        if leases:
            self._rests, self._rests_since = False, None
            self._slot.nextcall.schedule()

    def rest(self, reason: str, activity: int) -> None:
        self._in_reactor(self._rest, reason, activity)

    def _rest(self, reason: str, activity: int) -> None:
        if activity != self._outbox.activity or self._by_token:
            return
        self._rests_since = self._rests_since or time.monotonic()
        if reason == "cancelled":
            self._close_spider(reason)
        elif time.monotonic() - self._rests_since >= self._idle_s:
            self._rests = True
            self._slot.nextcall.schedule()

    def lost(self, error: Exception) -> None:
        log.error("%s", error)
        self._in_reactor(self._hooks.gate.fail, error)
        self._in_reactor(self._close_spider, "frontier_lost")

    def _close_spider(self, reason: str) -> None:
        engine = self._crawler.engine
        if engine.spider is None or self._slot.closing is not None:
            return
        if hasattr(engine, "close_spider_async"):
            deferred_from_coro(engine.close_spider_async(reason=reason))
        else:  # Scrapy 2.13
            engine.close_spider(self._spider, reason=reason)

    def offered(self, activity: int) -> None:
        if self._after_offers:
            self._in_reactor(self._call_after_offers, activity)

    def _call_after_offers(self, activity: int) -> None:
        due = [act for at, act in self._after_offers if at <= activity]
        self._after_offers = [each for each in self._after_offers if each[0] > activity]
        for act in due:
            act()

    def forget_recent(self) -> None:
        self._in_reactor(self._recent.clear)

    def flush_feeds(self) -> None:
        for slot in getattr(self._crawler.get_extension(FeedExporter), "slots", ()):
            file = getattr(slot, "file", None)
            if file is not None and not file.closed:
                file.flush()

    def closed(self) -> None:
        self._in_reactor(self._closed.callback, None)

    @staticmethod
    def _in_reactor(act: Any, *args: Any) -> None:
        from twisted.internet import reactor

        reactor.callFromThread(act, *args)


def _retry_trail(packed: PackedRequest, known: Trail) -> Trail:
    """The request as Scrapy changed it. The note of its target no longer counts."""
    return known._replace(
        priority=packed.priority, depth=packed.depth, callback=packed.callback, meta={**packed.fields, WHOLE: True}
    )
