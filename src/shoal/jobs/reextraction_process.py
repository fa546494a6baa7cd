"""One process of an extraction: reads bodies from the archive and runs the spider's callbacks on them."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from shoal.engine.malloc import keep_freed_memory
from shoal.engine.reading.spider_callbacks import failed_page, options_of, page_of
from shoal.errors import InvalidURL
from shoal.extract.sitemaps import sitemap_kind
from shoal.jobs.read_archived import read_archived
from shoal.model import Drop, ItemRecord, ItemType, PageRecord, RejectRecord, RequestOptions
from shoal.model.request_options import identity_of
from shoal.spiders import rules
from shoal.spiders.callback_limits import CallbackLimits
from shoal.spiders.item import Item
from shoal.spiders.item_schema import type_of
from shoal.spiders.load_spider import load_spider
from shoal.spiders.page import Page, Request
from shoal.spiders.run_callback import CallbackFailed, run
from shoal.spiders.spider import Spider
from shoal.store.archive.archive_folders import Archive, ArchivePlace
from shoal.store.crawl.item_rows import staged_id
from shoal.store.crawl.save_batch import SelectorUse
from shoal.urls import Params, canonical, fingerprint

_KEPT_BYTES = 64 << 20


class PageSource(NamedTuple):
    """Where to load the spider from; one of the first two is set."""

    reference: str | None
    rules: str | None
    arguments: Mapping[str, str | list[str]]
    """Of the job. Another spider than the job's own may not know them all."""
    shared: Mapping[str, Any]
    """What `on_start` gave to the callbacks during the crawl."""
    has_sitemaps: bool
    """Whether the crawl read the hosts' sitemaps. They are for no callback."""


class ReextractionRequest(NamedTuple):
    """The callback for a page, and what travelled with its request."""

    callback: str = ""
    meta: Mapping[str, Any] | None = None
    options: RequestOptions | None = None
    input: Mapping[str, str] | None = None

    def callback_for(self, record: PageRecord | Drop) -> str | None:
        """The callback that got it during the crawl; None if none did."""
        if isinstance(record, PageRecord) and is_wanted(record.status, self.options):
            return self.callback
        return None if self.options is None else self.options.errors


def is_wanted(status: int, options: RequestOptions | None) -> bool:
    # An unchanged page of a refresh is archived with its earlier body.
    return 200 <= status < 300 or status == 304 or (options is not None and status in options.statuses)


class Task(NamedTuple):
    page: PageRecord | Drop
    """A request that failed without an answer is dropped, and an errors callback got it."""
    request: ReextractionRequest
    callback: str


@dataclass(slots=True)
class Extract:
    """The results of one page."""

    job: str
    fingerprint: int
    token: int
    items: list[ItemRecord] = field(default_factory=list)
    rejects: list[RejectRecord] = field(default_factory=list)
    requests: dict[int, ReextractionRequest] = field(default_factory=dict)
    """Fingerprint -> the page's request for it; without requests that just name the start callback."""
    types: list[ItemType] = field(default_factory=list)
    fault: str | None = None
    url: str = ""
    matches: dict[SelectorUse, bool] = field(default_factory=dict)
    """Whether a selector matched on the page; without those that had matched before."""


class Extractor:
    def __init__(self, spider: Spider, archive: Archive, params: Params, source: PageSource) -> None:
        self._spider = spider
        self._shared = source.shared
        self._source = source
        self._archive = archive
        self._params = params
        self._bounds = CallbackLimits()
        self._loop = asyncio.new_event_loop()
        self._sent_types: set[type[Item]] = set()
        """Types that were sent with an earlier page."""
        self._matched: set[SelectorUse] = set()

    def extract(self, task: Task) -> Extract:
        record = task.page
        extract = Extract(staged_id(record.job), record.fingerprint, record.token, url=record.url)
        try:
            page = self._page(task)
            if _is_sitemap(self._source, record, page):
                return extract
            page.shared = self._shared
            findings = self._loop.run_until_complete(run(self._spider, task.callback, page, self._bounds))
        except CallbackFailed as failed:
            extract.fault = failed.reason
            return extract
        extract.items, extract.rejects = findings.items, findings.rejects
        extract.types = [type_of(found) for found in findings.types - self._sent_types]
        self._sent_types |= findings.types
        for (use, selector), found in findings.matches.items():
            used = SelectorUse(use, task.callback or self._spider.start.__name__, selector)
            if used not in self._matched:
                extract.matches[used] = found
            if found:
                self._matched.add(used)
        for request in findings.requests:
            self._note(extract, request, task.request)
        return extract

    def _page(self, task: Task) -> Page:
        record, request = task.page, task.request
        if isinstance(record, Drop):
            failure = record.detail.partition(":")[0]
            return failed_page(record.url, record.depth, request.meta, request.input, failure)
        assert record.archive is not None
        headers, body = read_archived(self._archive, record.archive)
        page = page_of(record, body, headers, request.meta, request.input)
        page.session = (request.options.session or "") if request.options is not None else ""
        page.failure = None if is_wanted(record.status, request.options) else f"status {record.status}"
        return page

    def _note(self, extract: Extract, request: Request, here: ReextractionRequest) -> None:
        callback = here.callback if request.callback is None else request.callback
        options = options_of(request, extract.url, here.options)
        wanted = ReextractionRequest(callback, request.meta, options, here.input)
        if wanted == ReextractionRequest():
            return
        try:
            url = canonical(request.url, self._params)
        except InvalidURL:
            return
        extract.requests.setdefault(fingerprint(url, request.method, request.body, identity_of(options)), wanted)


def _is_sitemap(source: PageSource, record: PageRecord | Drop, page: Page) -> bool:
    """As `engine.reading.sitemap_requests.listing_of` decided in the crawl. No page links to such sitemaps."""
    if record.parent is not None or not (source.has_sitemaps or source.rules is not None):
        return False
    kind = sitemap_kind(page.content_type, page.body)
    return kind is not None if source.has_sitemaps else kind == "sitemap"


def serve(connection: Connection, at: Any, source: PageSource, archive: ArchivePlace, params: Params) -> None:
    """The main loop of a process: receives parts of tasks and sends their results, until the other end is closed.

    `at` is shared memory. It holds the index of the current page, so that the parent knows which one ended the process.
    """
    # The parent handles Ctrl-C and ends its processes itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a spider prints is no data.
    sys.stdout = sys.stderr
    keep_freed_memory(_KEPT_BYTES)
    spider = rules.from_json(source.rules) if source.rules is not None else load_spider(source.reference or "")
    spider = spider.with_arguments(source.arguments, ignore_unknown=True)
    extractor = Extractor(spider, Archive.of(archive), params, source)
    while True:
        try:
            tasks = connection.recv()
        except EOFError:
            return
        extracts = []
        for place, task in enumerate(tasks):
            at.value = place
            extracts.append(extractor.extract(task))
        connection.send(extracts)
