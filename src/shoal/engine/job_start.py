"""Starts a job: its terms for the frontier, its seeds, and everything that the engine needs to work on it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal import __version__
from shoal.engine.active_job import ActiveJob, JobResources
from shoal.engine.reading.reuse_archived_response import ArchivedResponses
from shoal.frontier.contract import HostTerms, Terms
from shoal.model import MILLION, Input, JobSpec, Offer, Render, Target, Trail
from shoal.model.options import bound_of
from shoal.store.archive.recorder import Recorder
from shoal.store.archive.spools import Spools
from shoal.store.crawl.inputs import seed_targets
from shoal.store.crawl.job_cookies import load_cookies
from shoal.store.crawl.learnt_counts import load_learnt_counts
from shoal.store.jobs import Job
from shoal.store.results.job_figures import spent_by
from shoal.store.store import Store
from shoal.urls import Scope

if TYPE_CHECKING:
    from shoal.engine.reading.spider_callbacks import SpiderCallbacks
    from shoal.spiders.spider import Spider

SEEDS_AT_ONCE = 1_000


def terms_of_job(store: Store, job: Job) -> Terms:
    spent = spent_by(store, job.id) if job.spec.limits.cost is not None else 0
    return terms_of(job.spec, job.seconds, job.owner)._replace(spent=spent)


def terms_of(spec: JobSpec, seconds_used: float, owner: str | None = None) -> Terms:
    limits, politeness = spec.limits, spec.politeness
    seconds = bound_of("max_seconds").nearest(limits.seconds)
    return Terms(
        lane=spec.lane,
        owner=owner or "",
        priority=bound_of("priority").nearest(spec.priority),
        gap_s=politeness.gap_s,
        per_host=bound_of("per_host").nearest(politeness.per_host),
        hosts=tuple(HostTerms(own.host, own.gap_s, own.per_host) for own in politeness.hosts),
        robots=politeness.robots,
        pages=bound_of("max_pages").nearest(limits.pages),
        pages_per_host=bound_of("max_pages_per_host").nearest(limits.pages_per_host),
        bytes=bound_of("max_bytes").nearest(limits.bytes),
        browser=spec.render is Render.ALWAYS,
        assets=bound_of("max_assets").nearest(limits.assets),
        cost=None if limits.cost is None else max(1, round(limits.cost * MILLION)),
        stop_at=None if seconds is None else time.time() + seconds - seconds_used,
        own_workers=spec.scrapy is not None,
    )


def seeds_of(store: Store, job_id: str) -> Iterator[list[Input]]:
    """Yields any number of inputs in parts."""
    line = -1
    while part := seed_targets(store, job_id, line, SEEDS_AT_ONCE):
        line = part[-1].line
        yield part


def check_patterns(spec: JobSpec) -> JobSpec:
    """Returns the spec. Raises UsageError for an invalid pattern."""
    Scope(spec.scope, (), spec.include, spec.exclude)
    return spec


def seed_offers(job: Job, seeds: Iterable[Input]) -> list[Offer]:
    """The seeds together, but those with columns alone: a spider or rules have the row at hand."""
    together: list[Target] = []
    alone: list[Offer] = []
    for seed in seeds:
        if seed.target is None:
            continue
        if seed.columns is None or not job.gives_items:
            together.append(seed.target)
        else:
            alone.append(Offer(job.id, [seed.target], Trail(input=seed.columns)))
    return [*([Offer(job.id, together)] if together else []), *alone]


def scope_of(store: Store, job: Job, spec: JobSpec) -> Scope:
    """The job's full scope, by a spec that may differ from its current one. Raises UsageError.

    Takes a while for a job of a million seeds: do not call it on the event loop.
    """
    seeds = (seed.target.url for part in seeds_of(store, job.id) for seed in part if seed.target is not None)
    scope = Scope(spec.scope, seeds, spec.include, spec.exclude)
    for url in job.admitted:
        scope.admit(url)
    return scope


def make_active_job(job: Job, store: Store, spools: Spools, resources: JobResources) -> ActiveJob:
    """Takes a while for a job of a million seeds: do not call it on the event loop."""
    recorder = None
    if job.spec.archive:
        about = _segment_about(job.id, job.spec, job.spec.user_agent)
        recorder = Recorder(spools, job.id, about, job.spec.max_archive_bytes)
    archived = ArchivedResponses(spools.archive) if job.spec.refresh else None
    resources = replace(resources, recorder=recorder, archived_responses=archived, keeps_offers=job.fleet)
    active_job = ActiveJob(job.id, job.spec, job.created_at, (), job.admitted, resources, job.about)
    while part := seed_targets(store, job.id, active_job.seed_line, SEEDS_AT_ONCE):
        active_job.add_seeds(seed.target.url for seed in part if seed.target is not None)
        active_job.seed_line = part[-1].line
    active_job.jars.load(load_cookies(store, job.id))
    active_job.load_learnt(load_learnt_counts(store, job.id))
    return active_job


def callbacks_of(spec: JobSpec, spider: Spider | None = None) -> SpiderCallbacks | None:
    """Loads the spider for every run, so that `dead --retry` uses the corrected file.

    A spider that is already loaded can be passed in.
    """
    if spider is None and spec.spider is None and spec.rules is None:
        return None
    # Imported here only, because it takes a tenth of a second.
    from shoal.engine.reading.spider_callbacks import SpiderCallbacks

    return SpiderCallbacks((spider or _spider_of(spec)).with_arguments(spec.arguments))


def _spider_of(spec: JobSpec) -> Spider:
    # Imported here only, because it takes as long again.
    if spec.rules is not None:
        from shoal.spiders.rules import from_json

        return from_json(spec.rules)
    from shoal.spiders.load_spider import load_spider

    return load_spider(spec.spider or "")


def _segment_about(job_id: str, spec: JobSpec, agent: str) -> dict[str, str]:
    """The metadata that each archive segment has about its origin."""
    return {
        "software": f"shoal/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": job_id,
        "robots": "obey" if spec.politeness.robots else "ignore",
        **({"certificates": "not checked"} if spec.insecure else {}),
        "http-header-user-agent": agent,
    }
