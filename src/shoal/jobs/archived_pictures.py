"""Pictures of pages that a browser loaded, from the archive: screenshots, and pages printed as PDF."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from threading import Lock
from typing import NamedTuple

from shoal.errors import Unavailable
from shoal.jobs.archived_bodies import fingerprint_key
from shoal.model import PageRecord
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Reference, Resource
from shoal.store.archive.segment_table import require_segment
from shoal.store.crawl.save_batch import BROWSER
from shoal.store.jobs import Job
from shoal.store.results.listings import find_outcome, newest_pages
from shoal.store.store import Store

SCREENSHOT, PDF = "image/png", "application/pdf"
_AMONG, _MOST = 100, 3
_REMEMBERED = 1_000


class Screenshot(NamedTuple):
    page: PageRecord
    place: int
    """Among the pictures of the page."""


def pictures_of(store: Store, archive: Archive, job: str, fingerprint: str) -> list[Resource]:
    """In the order in which they were taken. Raises UsageError for a wrong fingerprint, and Unavailable if this machine
    cannot read the archive."""
    page = find_outcome(store, job, fingerprint_key(fingerprint))
    if not isinstance(page, PageRecord) or page.via != BROWSER or page.archive is None:
        return []
    return _read(store, archive, page.archive)


class NewestScreenshots:
    """The last screenshots of a job's newest pages. Remembers where they are: to find out takes reading them."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, int | None] = OrderedDict()
        self._lock = Lock()

    def of(self, store: Store, archive: Archive, job: Job) -> list[Screenshot]:
        """Empty if the job's options do not ask for screenshots. Those that this machine cannot read are left out."""
        if not any(step.name == "screenshot" for step in job.spec.rendering.rendering.steps):
            return []
        found = []
        rendered = [page for page in newest_pages(store, job.id, _AMONG) if page.via == BROWSER and page.archive]
        for page in rendered[:_MOST]:
            with suppress(Unavailable):
                if (place := self._place(store, archive, page.archive or "")) is not None:
                    found.append(Screenshot(page, place))
        return found

    def _place(self, store: Store, archive: Archive, reference: str) -> int | None:
        with self._lock:
            if reference in self._known:
                return self._known[reference]
        pictures = _read(store, archive, reference)
        places = [place for place, picture in enumerate(pictures) if picture.content_type == SCREENSHOT]
        with self._lock:
            self._known[reference] = places[-1] if places else None
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            return self._known[reference]


def _read(store: Store, archive: Archive, reference: str) -> list[Resource]:
    html = Reference.parse(reference)
    require_segment(store, archive, html.segment)
    return archive.pictures(html)
