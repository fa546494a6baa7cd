"""Takes over what scrapy-redis has in Redis: its queue of requests, and the fingerprints of those it has seen.

Fingerprints of scrapy-redis cannot be turned into others. So the job that gets them keeps telling requests apart as
scrapy-redis does. An import may be repeated: what the job knows already is not queued again. Nothing of scrapy-redis is
changed or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from typing import Any

from scrapy import Request
from scrapy.utils.request import RequestFingerprinter

from shoal.errors import UsageError
from shoal.frontier.contract import Caller, Ended
from shoal.frontier.serialize import offer_text
from shoal.model import JobState, Outcome
from shoal.scrapy.crawl_job import CrawlJob, open_crawl
from shoal.scrapy.fingerprints import Fingerprints
from shoal.scrapy.group_requests import FoundRequest, offers_of
from shoal.scrapy.pickled_requests import RequestReader
from shoal.scrapy.project import ScrapyProject
from shoal.scrapy.project_settings import crawl_plan, shoal_settings
from shoal.scrapy.redis_spiders import redis_client
from shoal.scrapy.request_json import PackedRequest, pack
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.jobs import load_job

QUEUE_KEY = "%(spider)s:requests"
SEEN_KEY = "%(spider)s:dupefilter"
READ_AT_ONCE = 500
SEEN_AT_ONCE = 2_000
SEEN_HOST = "scrapy-redis"
"""Fingerprints do not tell their hosts."""
SHOWN = 5


@dataclass(slots=True)
class Imported:
    job: str = ""
    queued: int = 0
    known: int = 0
    """Entries of the queue that the job had already."""
    seen: int = 0
    """Fingerprints that the job had not."""
    left_out: int = 0
    why_left_out: list[str] = field(default_factory=list)
    """Of the first few."""

    def leave_out(self, why: str) -> None:
        self.left_out += 1
        if len(self.why_left_out) < SHOWN:
            self.why_left_out.append(why)


class RedisQueue:
    """What scrapy-redis keeps for one spider."""

    def __init__(self, project: ScrapyProject) -> None:
        """Raises UsageError."""
        settings, name = project.settings, project.spider.name
        self._server = redis_client(settings)
        self.queue_key = (settings["SCHEDULER_QUEUE_KEY"] or QUEUE_KEY) % {"spider": name}
        self.seen_key = (settings["SCHEDULER_DUPEFILTER_KEY"] or SEEN_KEY) % {"spider": name}
        queue_class = str(settings["SCHEDULER_QUEUE_CLASS"])
        self._newest_first = "Lifo" in queue_class or "Stack" in queue_class

    def entries(self) -> Iterator[bytes]:
        """In the order in which scrapy-redis would take them."""
        kind = self._kind(self.queue_key, "list", "zset")
        place = 0
        while kind != "none":
            part = self._part(kind, place)
            yield from part
            place += len(part)
            if not part:
                return

    def _part(self, kind: str, place: int) -> list[bytes]:
        most = READ_AT_ONCE
        if kind == "zset":
            found: list[bytes] = self._server.zrange(self.queue_key, place, place + most - 1)
        elif self._newest_first:
            found = self._server.lrange(self.queue_key, place, place + most - 1)
        else:
            found = self._server.lrange(self.queue_key, -place - most, -place - 1)[::-1]
        return found

    def seen(self) -> Iterator[int]:
        if self._kind(self.seen_key, "set") == "none":
            return
        for text in self._server.sscan_iter(self.seen_key, count=SEEN_AT_ONCE):
            try:
                yield int.from_bytes(bytes.fromhex(text.decode())[:8], "big", signed=True)
            except ValueError:
                raise UsageError(f"{self.seen_key} in Redis has {text!r}, which is not a fingerprint") from None

    def _kind(self, key: str, *expected: str) -> str:
        kind = str(self._server.type(key).decode())
        if kind not in (*expected, "none"):
            raise UsageError(f"{key} in Redis is a {kind}, not a {' or '.join(expected)} as scrapy-redis keeps it")
        return kind


async def import_crawl(project: ScrapyProject, allowed: list[str], progress: Callable[[int], None]) -> Imported:
    """`progress` gets the number of entries read. Raises UsageError and Unavailable."""
    queue, reader = RedisQueue(project), RequestReader(allowed)
    plan = crawl_plan(project.settings, project.spider)
    plan = replace(plan, spec=replace(plan.spec, scrapy_redis=True))
    crawl = await open_crawl(shoal_settings(project.settings), plan)
    try:
        _check(crawl)
        imported = Imported(crawl.id)
        caller = Caller(crawl.caller)
        await _import_queue(crawl, caller, _Converter(project.spider, reader), queue, imported, progress)
        for part in _parts(queue.seen(), SEEN_AT_ONCE):
            ended = [Ended(each, SEEN_HOST, Outcome.DROP, reason="imported") for each in part]
            imported.seen += await crawl.frontier.recall(caller.next(), crawl.id, ended)
        await crawl.end(None, JobState.INTERRUPTED, "imported from scrapy-redis: start the spider to continue it")
        return imported
    finally:
        await crawl.close()


def _check(crawl: CrawlJob) -> None:
    if crawl.has_ended:
        raise UsageError(f"job {crawl.id} has ended: choose another SHOAL_JOB")
    if not crawl.scrapy_redis:
        raise UsageError(
            f"job {crawl.id} of this spider has not ended, and was not imported: `shoal cancel {crawl.id}` ends it; "
            "or let it end, or set SHOAL_JOB to another id"
        )


async def _import_queue(
    crawl: CrawlJob,
    caller: Caller,
    converter: _Converter,
    queue: RedisQueue,
    imported: Imported,
    progress: Callable[[int], None],
) -> None:
    read, logs_offers = 0, load_job(crawl.store, crawl.id).fleet
    for part in _parts(queue.entries(), READ_AT_ONCE):
        found = []
        for data in part:
            try:
                found.append(converter.found(data))
            except ValueError as error:
                imported.leave_out(str(error))
        offers = offers_of(crawl.id, found)
        if logs_offers:
            # Before they are offered: then a Redis that loses its data gets them back from the store.
            save(crawl.store, Batch(crawl.id, offers=[offer_text(offer) for offer in offers]))
        offered = await crawl.frontier.offer(caller.next(), offers)
        if offered.left:
            raise UsageError(f"the frontier is full after {read:,} requests: start the spider, and import again later")
        imported.queued += offered.new
        imported.known += len(found) - offered.new
        read += len(part)
        progress(read)


class _Converter:
    """Makes requests of the frontier from those of scrapy-redis, without making the spider."""

    def __init__(self, spider: Any, reader: RequestReader) -> None:
        self._spider = spider
        self._reader = reader
        self._fingerprints = Fingerprints(RequestFingerprinter())
        self._fingerprints.as_scrapy_redis = True
        self._repeated: dict[int, int] = {}

    def found(self, data: bytes) -> FoundRequest:
        """Raises ValueError."""
        fields = self._reader.read(data)
        try:
            return self._found(fields)
        except ValueError as error:
            raise ValueError(f"{fields['url']}: {error}") from error
        except Exception as error:
            # A class of the project may raise anything.
            raise ValueError(f"{fields['url']}: {type(error).__name__}: {error}") from error

    def _found(self, fields: dict[str, Any]) -> FoundRequest:
        methods = {name: self._method(fields.pop(name, None)) for name in ("callback", "errback")}
        request = self._class(fields.pop("_class", None))(**fields)
        packed = self._with_methods(pack(request, None), **methods)
        if request.dont_filter:
            return FoundRequest(packed, self._fingerprints.unfiltered(request, (_SCOPE, self._repeated)), None)
        return FoundRequest(packed, self._fingerprints.of(request), None)

    def _method(self, name: str | None) -> str:
        if name and not callable(getattr(self._spider, name, None)):
            raise ValueError(f"the spider has no method {name!r}")
        return name or ""

    def _class(self, path: str | None) -> Any:
        if path is None:
            return Request
        return self._reader.request_class(path)

    @staticmethod
    def _with_methods(packed: PackedRequest, callback: str, errback: str) -> PackedRequest:
        fields = {**packed.fields, "e": errback} if errback else packed.fields
        return packed._replace(callback=callback, fields=fields)


_SCOPE = int.from_bytes(blake2b(b"scrapy-redis", digest_size=8).digest(), "big", signed=True)


def _parts(values: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while part := list(islice(values, size)):
        yield part
