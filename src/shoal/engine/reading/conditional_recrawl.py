"""Finds the earlier versions of pages for a job that refreshes, in the newest earlier jobs of its name.

A request is conditional only if the earlier page can replace the body. It cannot if more is needed than was stored: the
body for a sitemap or the archive, or links and formats that were not stored. A spider's callback and the search for
assets need the body too, which the archive may have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from shoal.engine.active_job import SITEMAP, ActiveJob
from shoal.engine.active_jobs import ActiveJobs
from shoal.engine.outage_retry import OutageRetry
from shoal.extract.html_tags import HTML_TYPES
from shoal.model import JobSpec, Lease
from shoal.store.async_store import AsyncStore
from shoal.store.jobs import earlier_jobs

if TYPE_CHECKING:
    from shoal.store.crawl.earlier_pages import EarlierPage

NOT_MODIFIED = 304
CONDITION_REFUSED = frozenset({206, 400, 412})
"""Answers of hosts that cannot handle a conditional request: it is repeated without the condition."""
_LISTING_ENDS = ("/xml", "rss+xml", "atom+xml", "rdf+xml", "json", "/plain", "gzip")
MOST_JOBS = 10
"""How many earlier jobs to search for a page. If none of them has it, it counts as new."""


class KnownPage(NamedTuple):
    page: EarlierPage
    reusable: bool
    """The earlier page replaces the body of a 304."""


class Refresh:
    def __init__(self, async_store: AsyncStore, active_jobs: ActiveJobs, outages: OutageRetry) -> None:
        self._async_store = async_store
        self._active_jobs = active_jobs
        self._keep_trying = outages.keep_trying
        self._specs: dict[str, dict[str, JobSpec]] = {}

    async def known(self, leases: Sequence[Lease]) -> dict[int, KnownPage]:
        """By token. One store call for all leases of a job, and none for jobs that do not refresh."""
        found: dict[int, KnownPage] = {}
        for job in {lease.job for lease in leases if self._active_jobs[lease.job].spec.refresh}:
            found |= await self._known_of(self._active_jobs[job], [lease for lease in leases if lease.job == job])
        return found

    async def _known_of(self, active_job: ActiveJob, leases: Sequence[Lease]) -> dict[int, KnownPage]:
        # Imported here only: few jobs refresh.
        from shoal.store.crawl.earlier_pages import earlier_pages

        if active_job.id not in self._specs:
            jobs = await self._keep_trying(self._async_store.run, earlier_jobs, active_job.id, MOST_JOBS)
            self._specs[active_job.id] = {job.id: job.spec for job in jobs}
        specs = self._specs[active_job.id]
        fingerprints = [lease.target.fingerprint for lease in leases]
        pages = (
            await self._keep_trying(self._async_store.run, earlier_pages, list(specs), fingerprints) if specs else {}
        )
        if active_job.archived_responses is not None and (active_job.callbacks is not None or active_job.spec.assets):
            await active_job.archived_responses.look_for(pages.values())
        return {
            lease.token: KnownPage(page, _reusable(lease, page) and _suffices(active_job, page, specs[page.job]))
            for lease in leases
            if (page := pages.get(lease.target.fingerprint))
        }


def _reusable(lease: Lease, page: EarlierPage) -> bool:
    good = 200 <= page.status < 300 or page.status == NOT_MODIFIED
    plain = lease.target.is_plain and lease.trail.callback != SITEMAP and not _may_list_urls(lease, page)
    # Some hosts fail at the condition itself, with a 500 or a closed connection, and would at every attempt.
    asked_before = lease.attempt > 0 or lease.target.fingerprint in lease.trail.chain
    # With other headers or cookies it may be another page.
    options = lease.trail.options
    usual = options is None or not (options.headers or options.cookies)
    return good and plain and usual and not asked_before and bool(page.etag or page.last_modified)


def _may_list_urls(lease: Lease, page: EarlierPage) -> bool:
    """Whether it may be a sitemap or feed, whose URLs are not stored."""
    kind = page.content_type
    return kind not in HTML_TYPES and (lease.trail.parent is None or kind.endswith(_LISTING_ENDS))


def _suffices(active_job: ActiveJob, page: EarlierPage, then: JobSpec) -> bool:
    """Whether nothing is missing if the host sends no body."""
    if active_job.callbacks is not None or active_job.spec.assets:
        has_body = active_job.archived_responses is not None and active_job.archived_responses.has(page)
        if active_job.callbacks is not None or not has_body:
            return has_body
    # A page that asked not to be indexed was read but not stored, nor were its links.
    has_content = page.packed is not None or page.content_type not in HTML_TYPES
    return has_content and _keeps_the_same(active_job, page, then)


def _keeps_the_same(active_job: ActiveJob, page: EarlierPage, then: JobSpec) -> bool:
    """Whether this job would store the same of a page as the earlier job did."""
    no_callback = then.spider is None and then.rules is None
    same_links = _link_terms(active_job.spec) == _link_terms(then)
    # If its archive has a size limit, bodies beyond the limit would be requested in full again and again.
    every_body = active_job.recorder is not None and active_job.spec.max_archive_bytes is None
    same_bodies = page.archive is not None or not every_body
    return no_callback and same_links and same_bodies and set(active_job.spec.formats) <= set(then.formats)


def _link_terms(spec: JobSpec) -> tuple[object, ...]:
    return spec.politeness.robots, spec.politeness.nofollow, set(spec.keep_params), set(spec.drop_params)
