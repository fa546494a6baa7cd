"""The requests for the files that items refer to. Like a page's assets they may lead to any host, and nothing is
extracted from them."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.engine.active_job import ActiveJob
from shoal.engine.request_result import RequestResult
from shoal.errors import InvalidURL
from shoal.model import ASSET, Offer, PageRecord, Target, Trail
from shoal.model.request_options import identity_of

MOST_FILES = 1_000
"""Of one page."""
FILE = "file"
"""In the meta of the request of a file."""
LAST_LEVEL = 4
"""As an asset's: what it refers to is not fetched."""


def offer_files(active_job: ActiveJob, done: RequestResult, record: PageRecord, urls: Iterable[str]) -> None:
    wanted = list(dict.fromkeys(urls))
    record.file_faults = dict.fromkeys(wanted[MOST_FILES:], f"more than {MOST_FILES:,} files of one page")
    options = done.lease.trail.options
    # Files are of the same login.
    in_session = options._replace(errors=None, statuses=(), steps=(), cookies=(), headers=()) if options else None
    identity = identity_of(in_session)
    targets: dict[int, Target] = {}
    for url in wanted[:MOST_FILES]:
        try:
            target = active_job.target(url, identity)
        except InvalidURL as error:
            record.file_faults[url] = error.reason
            continue
        if active_job.scope.excludes(target.url):
            record.file_faults[url] = "excluded"
            continue
        targets[target.fingerprint] = target
        record.files.setdefault(target.fingerprint, []).append(url)
    if targets:
        trail = done.lease.trail
        meta = {"level": LAST_LEVEL, FILE: True}
        wants = Trail(record.depth, max(1, trail.priority), record.fingerprint, ASSET, meta)
        wants = wants._replace(options=in_session) if identity else wants
        done.offers.append(Offer(record.job, list(targets.values()), wants))
