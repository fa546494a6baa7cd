"""What a job that refreshes knows of its requests: the pages that the newest earlier jobs of its name have of them.

Hosts are asked for a page only if it changed where the earlier one can stand in for it. It cannot where more is wanted
than there is of it: the body for a spider's callback, a sitemap or the archive, links and formats that were not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoal.engine.patience import Patience
from shoal.engine.work import SITEMAP, Work
from shoal.engine.works import Works
from shoal.model import JobSpec, Lease
from shoal.store.earlier import EarlierPage, earlier_pages
from shoal.store.jobs import earlier_jobs
from shoal.store.writer import Writer

HTML_TYPES = ("text/html", "application/xhtml+xml")
NOT_MODIFIED = 304
CONDITION_REFUSED = frozenset({206, 400, 412})
"""What a host that cannot deal with the condition answers: it is asked once more, without."""
MOST_JOBS = 10
"""Looked through for a page; one that none of them has counts as new."""


class Known(NamedTuple):
    page: EarlierPage
    reusable: bool
    """It stands in for the answer if that is 304."""


class Refresh:
    def __init__(self, writer: Writer, works: Works, patience: Patience) -> None:
        self._writer = writer
        self._works = works
        self._insist = patience.insist
        self._specs: dict[str, dict[str, JobSpec]] = {}

    async def known(self, leases: Sequence[Lease]) -> dict[int, Known]:
        """By token; one call of the store for all leases of a job, and none for jobs that do not refresh."""
        found: dict[int, Known] = {}
        for job in {lease.job for lease in leases if self._works[lease.job].spec.refresh}:
            found |= await self._known_of(self._works[job], [lease for lease in leases if lease.job == job])
        return found

    async def _known_of(self, work: Work, leases: Sequence[Lease]) -> dict[int, Known]:
        if work.job not in self._specs:
            jobs = await self._insist(self._writer.run, earlier_jobs, work.job, MOST_JOBS)
            self._specs[work.job] = {job.id: job.spec for job in jobs}
        specs = self._specs[work.job]
        fingerprints = [lease.target.fingerprint for lease in leases]
        pages = await self._insist(self._writer.run, earlier_pages, list(specs), fingerprints) if specs else {}
        return {
            lease.token: Known(page, _reusable(lease, page) and _keeps_alike(work, page, specs[page.job]))
            for lease in leases
            if (page := pages.get(lease.target.fingerprint))
        }


def _reusable(lease: Lease, page: EarlierPage) -> bool:
    good = 200 <= page.status < 300 or page.status == NOT_MODIFIED
    plain = lease.target.is_plain and lease.trail.callback != SITEMAP
    # Some hosts fail at the condition itself, by a 500 or by hanging up, and would at every attempt.
    asked_before = lease.attempt > 0 or lease.target.fingerprint in lease.trail.chain
    # A page that asked not to be indexed was read but not kept, and its links with it.
    kept = page.packed is not None or page.content_type not in HTML_TYPES
    return good and plain and not asked_before and kept and bool(page.etag or page.last_modified)


def _keeps_alike(work: Work, page: EarlierPage, then: JobSpec) -> bool:
    """Whether what the earlier job kept of a page is what this one would."""
    no_callback = work.callbacks is None and then.spider is None and then.rules is None
    same_links = _link_terms(work.spec) == _link_terms(then)
    # With a bound on its archive, whatever is beyond would be asked for whole again and again.
    every_body = work.recorder is not None and work.spec.max_archive_bytes is None
    same_bodies = page.archive is not None or not every_body
    return no_callback and same_links and same_bodies and set(work.spec.formats) <= set(then.formats)


def _link_terms(spec: JobSpec) -> tuple[object, ...]:
    return spec.politeness.robots, set(spec.keep_params), set(spec.drop_params)
