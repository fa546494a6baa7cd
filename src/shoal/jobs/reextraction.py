"""Extracts new items from the archive: runs a spider over a job's pages in several processes, without fetching.

The spider sees the pages as in a crawl: a page goes to the callback that an earlier page's request names, otherwise to
the start callback. Pages are read depth by depth, so that a request is known before its page is read. The job's items
are replaced at the end, all at once.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from shoal.engine.job_start import seeds_of
from shoal.errors import ExtractionFailed, UsageError
from shoal.frontier.serialize import offer_of
from shoal.jobs.deployment import Deployment
from shoal.jobs.no_items import NothingFound, why_nothing_found
from shoal.jobs.reextraction_pool import ReextractionPool
from shoal.jobs.reextraction_process import Extract, PageSource, ReextractionRequest, Task, is_wanted
from shoal.jobs.unmatched_selectors import UnmatchedSelectors
from shoal.model import Drop, PageRecord
from shoal.spiders.item_schema import declared_items, type_of
from shoal.spiders.spider import Spider
from shoal.store.archive.segment_table import require_segments
from shoal.store.crawl.item_files import file_requests
from shoal.store.crawl.job_hooks import shared_of, start_offers
from shoal.store.crawl.staged_items import Replaced, clear_staged, item_count, replace_items, stage
from shoal.store.job_changes import note_extraction
from shoal.store.jobs import Job
from shoal.store.results.listings import (
    extractable_depths,
    extractable_pages,
    handled_failures,
    pages_without_body,
    redirect_targets,
)
from shoal.store.results.quality import measure_quality
from shoal.urls import Params
from shoal.wording import plural

PAGES_AT_ONCE = 50


@dataclass(slots=True)
class Progress:
    total: int
    left_out: int = 0
    """Pages whose bodies the archive does not have."""
    pages: int = 0
    items: int = 0
    rejects: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    """Reason -> number of pages on which a callback failed."""
    reject_reasons: Counter[str] = field(default_factory=Counter)
    selectors: UnmatchedSelectors = field(default_factory=UnmatchedSelectors)
    replaced: Replaced | None = None
    """None until the items are replaced."""
    no_items: str | None = None
    """At the end: why there is no item, in words; None if there is one, or need not be."""
    kept: int = 0
    """Old items that the job keeps because there is no new one."""
    began_at: float = field(default_factory=time.monotonic)

    @property
    def failed(self) -> int:
        return self.faults.total()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began_at


class Reextraction:
    def __init__(
        self,
        place: Deployment,
        job: Job,
        spider: Spider,
        max_failure_rate: float,
        processes: int | None,
        allow_empty: bool,
    ) -> None:
        """Unless `allow_empty`, or the job allows it, no items at all replace nothing."""
        self._place = place
        self._job = job
        self._spider = spider
        self._max_failure_rate = max_failure_rate
        self._allow_empty = allow_empty or job.spec.allow_empty
        self._n_processes = processes or os.cpu_count() or 1
        self._types = {cls.__name__: type_of(cls) for cls in declared_items(spider)}
        self._requests: dict[int, ReextractionRequest] = {}
        self._requests.update(self._requests_of_on_start())
        self._requests.update(self._rows_of_inputs())
        self.progress = Progress(0)

    def _requests_of_on_start(self) -> Iterator[tuple[int, ReextractionRequest]]:
        for text in start_offers(self._place.store, self._job.id):
            offer = offer_of(self._job.id, text)
            request = ReextractionRequest(offer.trail.callback, offer.trail.meta, offer.trail.options)
            yield from ((each.fingerprint, request) for each in offer.targets)

    def _rows_of_inputs(self) -> Iterator[tuple[int, ReextractionRequest]]:
        for seeds in seeds_of(self._place.store, self._job.id):
            for seed in seeds:
                if seed.target is not None and seed.columns is not None:
                    yield seed.target.fingerprint, ReextractionRequest(input=seed.columns)

    def run(self, on_progress: Callable[[Progress], None]) -> Progress:
        """Raises ExtractionFailed if the callback fails on too many pages, and UsageError if there is no page."""
        store, job = self._place.store, self._job.id
        depths = extractable_depths(store, job)
        self.progress = Progress(sum(depths.values()), pages_without_body(store, job))
        if not self.progress.total:
            raise UsageError(
                f"job {job} has no page in the archive: it was crawled with --no-archive or beyond "
                "--max-archive-bytes, or found no page; crawl it again"
            )
        require_segments(store, self._place.archive, job)
        with self._place.at_rest(self._job):
            clear_staged(store, job)
            try:
                with self._start_pool() as pool:
                    for depth in sorted(depths):
                        self._read_depth(pool, depth, on_progress)
                self._check_failures()
                self._check_empty()
                if self.progress.kept:
                    return self.progress
                self.progress.replaced = replace_items(store, job, list(self._types.values()))
            finally:
                clear_staged(store, job)
            note_extraction(store, job, self._spider.rules or self._spider.reference or "", self._spider.version)
            measure_quality(store, job)
        return self.progress

    def _start_pool(self) -> ReextractionPool:
        spec = self._job.spec
        params = Params.of(spec)
        self._spider.with_arguments(spec.arguments, ignore_unknown=True)
        reference = None if self._spider.rules else self._spider.reference
        shared = shared_of(self._place.store, self._job.id)
        source = PageSource(reference, self._spider.rules, spec.arguments, shared, spec.sitemaps)
        return ReextractionPool(self._n_processes, source, self._place.archive.place, params)

    def _read_depth(self, pool: ReextractionPool, depth: int, on_progress: Callable[[Progress], None]) -> None:
        for extracts in pool.extracts(self._parts(depth)):
            stage(self._place.store, extracts)
            for extract in extracts:
                self._note(extract)
            on_progress(self.progress)
        for source, target in redirect_targets(self._place.store, self._job.id):
            if source in self._requests:
                self._requests.setdefault(target, self._requests[source])

    def _parts(self, depth: int) -> Iterator[list[Task]]:
        tasks = self._tasks(depth)
        while part := list(islice(tasks, PAGES_AT_ONCE)):
            yield part

    def _tasks(self, depth: int) -> Iterator[Task]:
        store, job = self._place.store, self._job.id
        files = file_requests(store, job)
        pages: Iterator[PageRecord | Drop] = extractable_pages(store, job, depth)
        for record in chain(pages, handled_failures(store, job, depth)):
            is_asset = isinstance(record, PageRecord) and record.is_asset
            if is_asset or record.fingerprint in files:
                # No callback received it.
                self.progress.total -= 1
                continue
            request = self._requests.get(record.fingerprint, ReextractionRequest())
            callback = request.callback_for(record)
            if callback is not None:
                self.progress.total += isinstance(record, Drop) or not is_wanted(record.status, None)
                yield Task(record, request, callback)

    def _note(self, extract: Extract) -> None:
        self.progress.pages += 1
        self.progress.items += len(extract.items)
        self.progress.rejects += len(extract.rejects)
        self.progress.reject_reasons.update(reject.reason for reject in extract.rejects)
        self.progress.selectors.note(extract.matches, extract.url)
        if extract.fault is not None:
            self.progress.faults[extract.fault] += 1
        for found in extract.types:
            self._types.setdefault(found.name, found)
        for fingerprint, request in extract.requests.items():
            self._requests.setdefault(fingerprint, request)

    def _check_failures(self) -> None:
        failed = self.progress.failed
        if failed > self._max_failure_rate * self.progress.pages:
            worst, n = self.progress.faults.most_common(1)[0]
            raise ExtractionFailed(
                f"the spider failed on {failed:,} of {plural(self.progress.pages, 'page')}, so nothing was replaced; "
                f"{n:,} of them with {worst}; fix the spider, or allow a share with --max-failure-rate"
            )

    def _check_empty(self) -> None:
        progress = self.progress
        if progress.items or self._allow_empty:
            return
        reason = next((reason for reason, _ in progress.reject_reasons.most_common(1)), None)
        progress.no_items = why_nothing_found(
            NothingFound(progress.pages, progress.rejects, reason, progress.failed, progress.selectors.found())
        )
        progress.kept = item_count(self._place.store, self._job.id)
