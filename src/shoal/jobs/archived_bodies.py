"""Finds the archived body of a page by its fingerprint.

If a fetch found a page unchanged, in this job or an earlier one, the page has the body and headers of the exchange
that first brought it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.errors import UsageError
from shoal.fetch.exchange import Headers
from shoal.jobs.deployment import Deployment
from shoal.jobs.read_archived import read_archived
from shoal.model import PageRecord
from shoal.store.archive.capture import Reference
from shoal.store.archive.segment_table import machines_lost, require_segment
from shoal.store.results.listings import find_outcome
from shoal.store.store import Store

_FINGERPRINT = re.compile("[0-9a-fA-F]{16}")


@dataclass(frozen=True, slots=True)
class ArchivedBody:
    page: PageRecord
    headers: Headers
    body: bytes


def archived_body(place: Deployment, job: str, fingerprint: str) -> ArchivedBody:
    """Raises UsageError, with the way out, if the job has no such page or the archive does not have its body."""
    page = find_outcome(place.store, job, fingerprint_key(fingerprint))
    if not isinstance(page, PageRecord):
        raise UsageError(f"job {job} has no page {fingerprint!r}: `shoal pages {job} --json` shows the fingerprints")
    if page.archive is None:
        raise UsageError(
            f"{page.url} is not in the archive of job {job}: it was crawled with --no-archive or beyond "
            "--max-archive-bytes, or its answer was 304 and no job has its body"
            f"{_or_lost(place.store, job)}; crawl it again to archive it"
        )
    require_segment(place.store, place.archive, Reference.parse(page.archive).segment)
    return ArchivedBody(page, *read_archived(place.archive, page.archive))


def _or_lost(store: Store, job: str) -> str:
    machines = machines_lost(store, job)
    return f", or it was lost with {', '.join(machines)}, which never came back" if machines else ""


def fingerprint_key(fingerprint: str) -> int:
    """The store's form of a fingerprint: a signed integer. Raises UsageError if the text is not a fingerprint."""
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise UsageError(f"{fingerprint!r} is not a fingerprint: give the 16 hex digits that --json shows")
    key = int(fingerprint, 16)
    return key - (1 << 64) if key >= 1 << 63 else key
