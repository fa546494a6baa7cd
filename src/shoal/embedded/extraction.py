"""New items out of the archive: a spider run over the pages of a job, in several processes, without any fetching.

The spider sees the pages as it would have in a crawl: each goes to the callback that a page before it asks for it, and
to the start callback if none does. Pages are read depth by depth, so that who asks comes before who is asked for. The
job's items are replaced at the end and at once.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context

from shoal.embedded.extractor import Asked, Extract, Source, Task, extract_all, start
from shoal.embedded.home import Home
from shoal.errors import ShoalError, UsageError
from shoal.model import ItemType
from shoal.spiders.spider import Spider
from shoal.store.jobs import Job, note_extraction
from shoal.store.quality import measure_quality
from shoal.store.records import extractable_depths, extractable_pages, redirected
from shoal.store.staging import clear_staged, replace_items, stage
from shoal.urls import Params

PAGES_AT_ONCE = 50
WAITING_PER_PROCESS = 3


class ExtractionFailed(ShoalError):
    """Nothing was replaced."""

    exit_code = 3


@dataclass(slots=True)
class Progress:
    total: int
    pages: int = 0
    items: int = 0
    rejects: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    """Reason -> pages on which a callback failed."""
    began_at: float = field(default_factory=time.monotonic)

    @property
    def failed(self) -> int:
        return self.faults.total()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began_at


class Extraction:
    def __init__(self, home: Home, job: Job, spider: Spider, max_failure_rate: float, processes: int | None) -> None:
        self._home = home
        self._job = job
        self._spider = spider
        self._max_failure_rate = max_failure_rate
        self._processes = processes or os.cpu_count() or 1
        self._types: dict[str, ItemType] = {}
        self._asked: dict[int, Asked] = {}
        self.progress = Progress(0)

    def run(self, on_progress: Callable[[Progress], None]) -> Progress:
        """Raises ExtractionFailed if the callback fails on too many pages, and UsageError if there is none to read."""
        store, job = self._home.store, self._job.id
        depths = extractable_depths(store, job)
        self.progress = Progress(sum(depths.values()))
        if not depths:
            raise UsageError(
                f"job {job} has no page in the archive: it was crawled with --no-archive, or found none; crawl it again"
            )
        with self._home.locked(job):
            clear_staged(store, job)
            with self._pool() as pool:
                for depth in sorted(depths):
                    self._read_depth(pool, depth, on_progress)
            self._judge()
            replace_items(store, job, list(self._types.values()))
            note_extraction(store, job, self._spider.rules or self._spider.reference or "")
            measure_quality(store, job)
        return self.progress

    @contextmanager
    def _pool(self) -> Iterator[ProcessPoolExecutor]:
        spec = self._job.spec
        params = Params(frozenset(spec.keep_params), frozenset(spec.drop_params))
        source = Source(None if self._spider.rules else self._spider.reference, self._spider.rules)
        given = (source, self._home.archive.root, params)
        # Not forked: the spider is loaded in each as it was here, whatever this process has done since.
        pool = ProcessPoolExecutor(self._processes, get_context("spawn"), start, given)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)

    def _read_depth(self, pool: ProcessPoolExecutor, depth: int, on_progress: Callable[[Progress], None]) -> None:
        for extracts in self._extracts(pool, self._tasks(depth)):
            stage(self._home.store, extracts)
            for extract in extracts:
                self._note(extract)
            on_progress(self.progress)
        for source, target in redirected(self._home.store, self._job.id):
            if source in self._asked:
                self._asked.setdefault(target, self._asked[source])

    def _tasks(self, depth: int) -> Iterator[Task]:
        for page in extractable_pages(self._home.store, self._job.id, depth):
            yield Task(page, self._asked.get(page.fingerprint, Asked()))

    def _extracts(self, pool: ProcessPoolExecutor, tasks: Iterator[Task]) -> Iterator[list[Extract]]:
        waiting: set[Future[list[Extract]]] = set()
        try:
            while part := list(islice(tasks, PAGES_AT_ONCE)):
                waiting.add(pool.submit(extract_all, part))
                if len(waiting) >= WAITING_PER_PROCESS * self._processes:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            yield from (future.result() for future in waiting)
        except BrokenProcessPool:
            raise ExtractionFailed(
                "a page ended the process that read it, out of memory or by a fault in a library; nothing was replaced"
            ) from None

    def _note(self, extract: Extract) -> None:
        self.progress.pages += 1
        self.progress.items += len(extract.items)
        self.progress.rejects += len(extract.rejects)
        if extract.fault is not None:
            self.progress.faults[extract.fault] += 1
        for found in extract.types:
            self._types.setdefault(found.name, found)
        for fingerprint, asked in extract.asked.items():
            self._asked.setdefault(fingerprint, asked)

    def _judge(self) -> None:
        failed = self.progress.failed
        if failed > self._max_failure_rate * self.progress.pages:
            worst, n = self.progress.faults.most_common(1)[0]
            raise ExtractionFailed(
                f"the spider failed on {failed:,} of {self.progress.pages:,} pages, so nothing was replaced; "
                f"{n:,} times with {worst}; mend it, or allow a share with --max-failure-rate"
            )
