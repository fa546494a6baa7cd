"""How a job is taken up: its terms for the frontier, its seeds, and what the engine needs to work on it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shoal import __version__
from shoal.engine.work import Work
from shoal.fetch.curl import Fetcher
from shoal.frontier.contract import Terms
from shoal.model import JobSpec, Target
from shoal.model.bounds import within
from shoal.store.archive.recorder import Recorder
from shoal.store.archive.spools import Spools
from shoal.store.inputs import seed_targets
from shoal.store.jobs import Job
from shoal.store.remembered import load_cookies
from shoal.store.store import Store
from shoal.urls import Scope

if TYPE_CHECKING:
    from shoal.engine.callbacks import Callbacks
    from shoal.spiders.spider import Spider

SEEDS_AT_ONCE = 1_000


def terms_of(spec: JobSpec, seconds_used: float, owner: str | None = None) -> Terms:
    limits, politeness = spec.limits, spec.politeness
    seconds = within("max_seconds", limits.seconds)
    return Terms(
        lane=spec.lane,
        owner=owner or "",
        priority=within("priority", spec.priority),
        gap_s=politeness.gap_s,
        per_host=within("per_host", politeness.per_host),
        robots=politeness.robots,
        pages=within("max_pages", limits.pages),
        pages_per_host=within("max_pages_per_host", limits.pages_per_host),
        bytes=within("max_bytes", limits.bytes),
        stop_at=None if seconds is None else time.time() + seconds - seconds_used,
    )


def seeds_of(store: Store, job_id: str) -> Iterator[list[Target]]:
    """Of any number of inputs, some at a time."""
    line = -1
    while part := seed_targets(store, job_id, line, SEEDS_AT_ONCE):
        line = part[-1].line
        yield [given.target for given in part if given.target is not None]


def scope_of(store: Store, job: Job, spec: JobSpec) -> Scope:
    """The job's whole scope, by a spec that may differ from the one it has. Raises UsageError.

    Takes a while for a job of a million seeds: not to be called on the event loop.
    """
    seeds = (seed.url for part in seeds_of(store, job.id) for seed in part)
    scope = Scope(spec.scope, seeds, spec.include, spec.exclude)
    for url in job.admitted:
        scope.admit(url)
    return scope


def work_on(job: Job, store: Store, spools: Spools, fetcher: Fetcher, callbacks: Callbacks | None) -> Work:
    """Takes a while for a job of a million seeds: not to be called on the event loop."""
    work = Work(job.id, job.spec, job.created_at, (), job.admitted, fetcher, callbacks)
    while part := seed_targets(store, job.id, work.seed_line, SEEDS_AT_ONCE):
        work.add_seeds(given.target.url for given in part if given.target is not None)
        work.seed_line = part[-1].line
    work.keeps_offers = job.fleet
    work.about = job.about
    work.jar.load(load_cookies(store, job.id))
    if job.spec.archive:
        about = _segment_about(job.id, job.spec, work.agent)
        work.recorder = Recorder(spools, job.id, about, job.spec.max_archive_bytes)
    return work


def callbacks_of(spec: JobSpec, spider: Spider | None = None) -> Callbacks | None:
    """The spider is loaded anew for every run, so that a mended file is what runs after a `dead --retry`.

    One that is at hand need not be loaded by what the job says of it.
    """
    if spider is None and spec.spider is None and spec.rules is None:
        return None
    # Only here: what spiders need takes a tenth of a second to load.
    from shoal.engine.callbacks import Callbacks

    return Callbacks(spider or _spider_of(spec))


def _spider_of(spec: JobSpec) -> Spider:
    # What rules need takes as long again.
    if spec.rules is not None:
        from shoal.spiders.rules import from_json

        return from_json(spec.rules)
    from shoal.spiders.loading import load_spider

    return load_spider(spec.spider or "")


def _segment_about(job_id: str, spec: JobSpec, agent: str) -> dict[str, str]:
    """What each segment of the archive says of its origin."""
    return {
        "software": f"shoal/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": job_id,
        "robots": "obey" if spec.politeness.robots else "ignore",
        "http-header-user-agent": agent,
    }
