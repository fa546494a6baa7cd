"""A job's overview: its figures from the frontier and the store, and its current state.

Frontier and store are two databases, and nobody can read both at one moment. But each result is stored before its
request ends in the frontier. So outcomes are counted in one snapshot of the store. The frontier is read after that, and
knows what was found and what is queued. The rest is in progress. So the figures of an overview always add up.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shoal.jobs.deployment import Deployment, JobStatus
from shoal.jobs.no_items import why_no_items
from shoal.jobs.why_slow import why_slow
from shoal.model import ENDED, Figures, JobState, ScopeKind
from shoal.store.archive.segment_table import size_of
from shoal.store.fleet.add_delivery import LastDelivery
from shoal.store.jobs import Job, load_job
from shoal.store.results.columns import iso_time
from shoal.store.results.job_figures import Failures, StoredFigures, UnmatchedSelector, quick_figures, stored_figures
from shoal.store.results.nofollow_starts import nofollow_starts
from shoal.store.store import Store
from shoal.telemetry.mask_secrets import masked
from shoal.urls.traps import allowing
from shoal.urls.url_shapes import allowing as allowing_shape

if TYPE_CHECKING:
    from shoal.store.results.time_series import Point

MOST_UNMATCHED = 20
MOST_STARTS = 3


@dataclass(frozen=True, slots=True)
class SinkFigures:
    """How far a sink of the job is."""

    url: str
    behind: int
    behind_s: float
    delivered: int
    refused: int
    fault: str | None
    stuck: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """The figures and the state of a job at one moment."""

    job: Job
    state: JobState
    frontier: Figures
    """Agrees with `stored`."""
    stored: StoredFigures
    archive_bytes: int
    limiting: str | None
    webhook: LastDelivery | None = None
    """None: the job has no webhook."""
    owner: str | None = None
    """The name of the token that owns the job, or its id if the token was removed; None: no owner."""
    pid: int | str | None = None
    """The process of this machine that crawls it."""

    on_finish: str | None = None
    """Why the spider's `on_finish` failed."""
    nofollow_starts: Sequence[str] = ()
    """The first start pages whose links were not followed, because they are nofollow."""
    sinks: list[SinkFigures] = field(default_factory=list)
    """In the order in which the job names them."""
    why_slow: str | None = None
    """What holds a running job back, with figures."""

    is_counting: bool = False
    """The job's rows are still being counted: figures of the store are those of the last minutes, and some are
    missing."""

    @property
    def sinks_behind(self) -> int:
        """Changed items that a sink has not got yet; of several sinks, of the one that is furthest behind."""
        return max((sink.behind for sink in self.sinks), default=0)

    @property
    def failures(self) -> list[Failures]:
        return self.stored.failures

    @property
    def unmatched(self) -> list[UnmatchedSelector]:
        """Not for items that were extracted again: the selectors were those of the crawl."""
        return [] if self.job.extracted_by is not None else self.stored.unmatched[:MOST_UNMATCHED]

    @property
    def no_items(self) -> str | None:
        """Why a spider or rules found no items, in words."""
        return why_no_items(self.job, self.state, self.stored)

    def as_dict(self) -> dict[str, Any]:
        """The job figures of the API and of --json, in this order."""
        job, frontier, stored = self.job, self.frontier, self.stored
        return {
            "id": job.id,
            "name": job.spec.name,
            "state": self.state.value,
            "lane": job.spec.lane.value,
            "created_at": iso_time(job.created_at),
            "started_at": iso_time(job.started_at) if job.started_at else None,
            "finished_at": iso_time(job.finished_at) if job.finished_at else None,
            "found": frontier.found,
            "queued": frontier.queued,
            "leased": frontier.leased,
            "pages": frontier.pages,
            "redirects": frontier.redirects,
            "dead": frontier.dead,
            "dropped": dict(frontier.dropped),
            "skipped": stored.skipped,
            "items": stored.items,
            "bytes": stored.bytes,
            "by_status": stored.by_status,
            "hosts": stored.hosts,
            "archive_bytes": self.archive_bytes,
            "unarchived": stored.unarchived,
            "cost": stored.cost,
            "limiting": self.limiting,
            "why_slow": self.why_slow,
            "traps": [{**asdict(trap), "allow": allowing(trap.rule)} for trap in stored.traps],
            "shapes": [{**asdict(one), "allow": allowing_shape(one.shape)} for one in stored.shapes],
            "overrides": job.spec.overrides,
            "user_agent": job.spec.user_agent,
            "version": job.version,
            "webhook": asdict(self.webhook) if self.webhook else None,
            "owner": self.owner,
            "rejected_items": stored.rejected,
            "dropped_items": stored.dropped_items,
            "no_items": self.no_items,
            "unmatched": [asdict(one) for one in self.unmatched],
            "on_finish_error": self.on_finish,
            "merged": stored.merged,
            "rendered": stored.rendered,
            "nofollow_starts": list(self.nofollow_starts),
            "sinks": [asdict(sink) for sink in self.sinks],
            "assets": frontier.assets,
        }


async def overview(place: Deployment, job_id: str) -> Overview:
    stored = stored_figures(place.store, job_id)
    return with_stored(place, await place.job_status(load_job(place.store, job_id)), stored)


def with_stored(place: Deployment, status: JobStatus, stored: StoredFigures) -> Overview:
    """`stored` was counted before the status was read."""
    store, job = place.store, status.job
    if status.state in ENDED and _ended(stored) != status.figures.ended:
        # It ended in between. Now its figures are complete.
        stored = stored_figures(store, job.id)
    starts = nofollow_starts(store, job.id, MOST_STARTS) if _follows_all_links(job) else []
    is_held = status.limiting and status.state not in ENDED
    return _overview(place, status, stored, _series(store, job) if is_held else (), starts)


def uncounted(place: Deployment, status: JobStatus, series: Sequence[Point]) -> Overview:
    """What is known of a job without reading all its rows."""
    stored = quick_figures(place.store, status.job.id, status.figures, series)
    return replace(_overview(place, status, stored, series, []), is_counting=True)


def _overview(
    place: Deployment, status: JobStatus, stored: StoredFigures, series: Sequence[Point], nofollow: Sequence[str]
) -> Overview:
    store, job = place.store, status.job
    return Overview(
        job,
        status.state,
        agreeing(status, stored),
        stored,
        size_of(store, place.archive, job.id),
        status.limiting,
        _last_deliveries(store, job) if job.spec.webhook else None,
        None if job.owner is None else _owner_name(store, job.owner),
        status.pid,
        _on_finish_failure(store, job) if job.spec.spider else None,
        nofollow,
        _sinks(store, job) if job.spec.sinks else [],
        why_slow(status, series) if status.limiting and status.state not in ENDED else None,
    )


# The next functions import what they need: few jobs have it, and it takes longer than a small crawl.


def _series(store: Store, job: Job) -> Sequence[Point]:
    from shoal.jobs.job_series import job_series

    return job_series(store, job)


def _last_deliveries(store: Store, job: Job) -> LastDelivery | None:
    from shoal.store.fleet.webhooks import last_deliveries

    return last_deliveries(store, job.id)


def _owner_name(store: Store, owner: str) -> str:
    from shoal.store.fleet.tokens import token_name

    return token_name(store, owner) or owner


def _on_finish_failure(store: Store, job: Job) -> str | None:
    from shoal.store.crawl.job_hooks import on_finish_failure

    return on_finish_failure(store, job.id)


def _sinks(store: Store, job: Job) -> list[SinkFigures]:
    from shoal.store.crawl.sink_state import sink_statuses

    names = [masked(text) for text in job.spec.sinks]
    return [
        SinkFigures(names[one.place], one.behind, one.behind_s, one.delivered, one.refused, one.fault, one.stuck)
        for one in sink_statuses(store, job.id, time.time())
    ]


def agreeing(status: JobStatus, stored: StoredFigures) -> Figures:
    """The frontier's figures with the outcomes that the store has. Without an outcome there, a request is leased."""
    known = status.figures
    # The frontier itself drops records that it cannot read.
    dropped = {reason: n for reason, n in known.dropped.items() if reason not in stored.dropped} | stored.dropped
    pages, assets, redirects, dead = stored.pages, stored.assets, stored.redirects, stored.dead
    figures = replace(known, pages=pages, assets=assets, redirects=redirects, dead=dead, dropped=dropped)
    waiting = figures.ended + known.queued
    at_rest = status.state in ENDED or not known.pending_known
    leased = known.leased if at_rest else max(0, known.found - waiting)
    return replace(figures, leased=leased, found=waiting + leased)


def _ended(stored: StoredFigures) -> int:
    return stored.pages + stored.assets + stored.redirects + stored.dead + sum(stored.dropped.values())


def _follows_all_links(job: Job) -> bool:
    """Unlike a spider or rules, and a list; and it obeys nofollow."""
    spec = job.spec
    by_itself = spec.spider is None and spec.rules is None and spec.scope is not ScopeKind.LISTED
    return by_itself and spec.politeness.obeys_nofollow
