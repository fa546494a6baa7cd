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
from dataclasses import dataclass, field
from itertools import islice

from shoal.errors import ExtractionFailed, UsageError
from shoal.jobs.extractor import Asked, Extract, Source, Task
from shoal.jobs.place import Place
from shoal.jobs.processes import Processes
from shoal.model import ItemType
from shoal.spiders.spider import Spider
from shoal.store.archive.segments import require_segments
from shoal.store.jobs import Job, note_extraction
from shoal.store.quality import measure_quality
from shoal.store.records import extractable_depths, extractable_pages, pages_without_body, redirected
from shoal.store.staging import Replaced, clear_staged, replace_items, stage
from shoal.urls import Params

PAGES_AT_ONCE = 50


@dataclass(slots=True)
class Progress:
    total: int
    left_out: int = 0
    """Pages whose bodies are not in the archive."""
    pages: int = 0
    items: int = 0
    rejects: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    """Reason -> pages on which a callback failed."""
    replaced: Replaced | None = None
    """None: nothing has been yet."""
    began_at: float = field(default_factory=time.monotonic)

    @property
    def failed(self) -> int:
        return self.faults.total()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began_at


class Extraction:
    def __init__(self, place: Place, job: Job, spider: Spider, max_failure_rate: float, processes: int | None) -> None:
        self._place = place
        self._job = job
        self._spider = spider
        self._max_failure_rate = max_failure_rate
        self._n_processes = processes or os.cpu_count() or 1
        self._types: dict[str, ItemType] = {}
        self._asked: dict[int, Asked] = {}
        self.progress = Progress(0)

    def run(self, on_progress: Callable[[Progress], None]) -> Progress:
        """Raises ExtractionFailed if the callback fails on too many pages, and UsageError if there is none to read."""
        store, job = self._place.store, self._job.id
        depths = extractable_depths(store, job)
        self.progress = Progress(sum(depths.values()), pages_without_body(store, job))
        if not depths:
            raise UsageError(
                f"job {job} has no page in the archive: it was crawled with --no-archive or beyond "
                "--max-archive-bytes, or found none; crawl it again"
            )
        require_segments(store, self._place.archive, job)
        with self._place.at_rest(self._job):
            clear_staged(store, job)
            try:
                with self._started() as processes:
                    for depth in sorted(depths):
                        self._read_depth(processes, depth, on_progress)
                self._judge()
                self.progress.replaced = replace_items(store, job, list(self._types.values()))
            finally:
                clear_staged(store, job)
            note_extraction(store, job, self._spider.rules or self._spider.reference or "")
            measure_quality(store, job)
        return self.progress

    def _started(self) -> Processes:
        spec = self._job.spec
        params = Params.of(spec)
        source = Source(None if self._spider.rules else self._spider.reference, self._spider.rules)
        return Processes(self._n_processes, source, self._place.archive.folders, params)

    def _read_depth(self, processes: Processes, depth: int, on_progress: Callable[[Progress], None]) -> None:
        for extracts in processes.extracts(self._parts(depth)):
            stage(self._place.store, extracts)
            for extract in extracts:
                self._note(extract)
            on_progress(self.progress)
        for source, target in redirected(self._place.store, self._job.id):
            if source in self._asked:
                self._asked.setdefault(target, self._asked[source])

    def _parts(self, depth: int) -> Iterator[list[Task]]:
        pages = extractable_pages(self._place.store, self._job.id, depth)
        tasks = (Task(page, self._asked.get(page.fingerprint, Asked())) for page in pages)
        while part := list(islice(tasks, PAGES_AT_ONCE)):
            yield part

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
                f"{n:,} of them with {worst}; mend it, or allow a share with --max-failure-rate"
            )
