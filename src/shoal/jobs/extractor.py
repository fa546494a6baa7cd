"""One process of an extraction: takes bodies out of the archive and runs the spider's callbacks on them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from shoal.engine.callbacks import page_of
from shoal.engine.heap import keep_freed
from shoal.errors import InvalidURL
from shoal.jobs.bodies import unpacked
from shoal.model import ItemRecord, ItemType, PageRecord, RejectRecord
from shoal.spiders import rules
from shoal.spiders.bounds import Bounds
from shoal.spiders.item import Item, type_of
from shoal.spiders.loading import load_spider
from shoal.spiders.page import Request
from shoal.spiders.running import CallbackFailed, run
from shoal.spiders.spider import Spider
from shoal.store.archive.archive import Archive, Folders
from shoal.store.staging import staged
from shoal.urls import Params, canonical, fingerprint

_KEPT_BYTES = 64 << 20


class Source(NamedTuple):
    """Where the spider is loaded from; one of the two is given."""

    reference: str | None
    rules: str | None


class Asked(NamedTuple):
    """The callback that a page is for, and what was handed on to it."""

    callback: str = ""
    meta: Mapping[str, Any] | None = None


class Task(NamedTuple):
    page: PageRecord
    asked: Asked


@dataclass(slots=True)
class Extract:
    """What one page gave."""

    job: str
    fingerprint: int
    token: int
    items: list[ItemRecord] = field(default_factory=list)
    rejects: list[RejectRecord] = field(default_factory=list)
    asked: dict[int, Asked] = field(default_factory=dict)
    """Fingerprint -> what the page asks for it, where that is not the start callback."""
    types: list[ItemType] = field(default_factory=list)
    fault: str | None = None


class Extractor:
    def __init__(self, spider: Spider, archive: Archive, params: Params) -> None:
        self._spider = spider
        self._archive = archive
        self._params = params
        self._bounds = Bounds()
        self._loop = asyncio.new_event_loop()
        self._told: set[type[Item]] = set()
        """Types that went out with an earlier page."""

    def extract(self, task: Task) -> Extract:
        record = task.page
        extract = Extract(staged(record.job), record.fingerprint, record.token)
        assert record.archive is not None
        headers, body = unpacked(self._archive, record.archive)
        page = page_of(record, body, headers, task.asked.meta)
        try:
            findings = self._loop.run_until_complete(run(self._spider, task.asked.callback, page, self._bounds))
        except CallbackFailed as failed:
            extract.fault = failed.reason
            return extract
        extract.items, extract.rejects = findings.items, findings.rejects
        extract.types = [type_of(found) for found in findings.types - self._told]
        self._told |= findings.types
        for request in findings.requests:
            self._note(extract, request, task.asked)
        return extract

    def _note(self, extract: Extract, request: Request, here: Asked) -> None:
        callback = here.callback if request.callback is None else request.callback
        if not callback and request.meta is None:
            return
        try:
            url = canonical(request.url, self._params)
        except InvalidURL:
            return
        extract.asked.setdefault(fingerprint(url, request.method, request.body), Asked(callback, request.meta))


def serve(connection: Connection, at: Any, source: Source, archive: Folders, params: Params) -> None:
    """A process's life: parts of tasks come in, what they gave goes out, until the other end is closed.

    `at` is shared memory: the place in its part of the page it is reading, so that one that ends the process is known.
    """
    # Ctrl-C is for the parent, which ends its processes itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_freed(_KEPT_BYTES)
    spider = rules.from_json(source.rules) if source.rules is not None else load_spider(source.reference or "")
    extractor = Extractor(spider, Archive(*archive), params)
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
