"""Jobs: their specs, their states and their progress."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, func, insert, select, true, update

from shoal.errors import UnknownJob, UsageError
from shoal.model import ENDED, NEWEST, Input, JobSpec, JobState, Lane
from shoal.store.crawl.inputs import add_inputs, last_seed_line
from shoal.store.database.storable_text import storable
from shoal.store.fleet.webhooks import add_delivery
from shoal.store.store import Store
from shoal.store.tables import jobs, scrapyd_jobs, sinks

_MOST_CANDIDATES = 10
_READ_AHEAD = 20_000
_SPECS_KEPT = 500
_SHORT_CHARS = 16_000
"""Longer specs, with long rules or certificates, are not kept."""
_MOST_NAMES = 200
"""Of so many jobs the name nearest to an unknown one is looked for."""


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    spec: JobSpec
    state: JobState
    created_at: float
    started_at: float | None
    finished_at: float | None
    seconds: float
    """How long the job has run, over all its runs."""
    reason: str | None
    admitted: tuple[str, ...]
    """Hosts that joined the scope because a seed redirected to them."""
    seeded: bool
    """Whether all inputs have been offered."""
    offered_line: int
    """The last input line that was offered; 0 until the job's first inputs have all been offered."""
    version: int
    """The version of the spec; every change adds one."""
    frontier_version: int
    """The version of the spec that the frontier last received."""
    fleet: bool
    """Whether workers of a fleet crawl it; otherwise one process of its home does."""
    request_id: str | None
    """The id of the API call that created it."""
    extracted_by: str | None
    """The spider that last extracted its items again after the crawl; rules as JSON text."""
    spider_version: str | None
    """The version of the spider that gave the items; several, if it changed before the job was resumed."""
    owner: str | None
    """The id of the submit token that owns it; None: admins own it, or everybody where jobs are shared."""

    @property
    def about(self) -> dict[str, str]:
        """The fields of every log line about this job."""
        return {"job": self.id, **({"request_id": self.request_id} if self.request_id else {})}

    @property
    def awaits_urls(self) -> bool:
        """Whether the job was created without URLs and none has been appended yet."""
        return self.seeded and self.started_at is None

    @property
    def gives_items(self) -> bool:
        spec = self.spec
        return any(reader is not None for reader in (spec.spider, spec.scrapy, spec.rules, self.extracted_by))


def create_job(
    store: Store,
    id: str,
    spec: Callable[[], JobSpec],
    inputs: Iterable[Input],
    created_at: float,
    fleet: bool = False,
    request_id: str | None = None,
    owner: str | None = None,
) -> None:
    """Creates the job with all its inputs, or nothing. The inputs are streamed, so there may be any number of them.

    Calls `spec` after the last input, because inputs may carry credentials that belong to the spec.
    """
    # Read before the transaction: a slow reader must not keep other crawls from writing. Most lists end here.
    given = iter(inputs)
    first = list(islice(given, _READ_AHEAD))
    with store.write() as db:
        add_inputs(db, id, chain(first, given))
        about = {"created_at": created_at, "fleet": fleet, "request_id": request_id, "owner": owner}
        _insert_job(db, id, spec(), about)


def _insert_job(db: Connection, id: str, spec: JobSpec, about: Mapping[str, Any]) -> None:
    # A job without inputs has nothing to offer until a client appends some; only a fleet allows that.
    awaits_urls = about["fleet"] and not last_seed_line(db, id)
    db.execute(
        insert(jobs).values(
            id=id,
            name=storable(spec.name),
            state=JobState.QUEUED,
            spec=spec.to_json(),
            seconds=0.0,
            admitted="[]",
            seeded=awaits_urls,
            offered_line=0,
            version=1,
            told=1,
            **about,
        )
    )
    new = {"job": id, "cursor": "{}", "batch": 0, "delivered": 0, "stuck": False}
    if spec.sinks:
        db.execute(insert(sinks), [{**new, "place": place} for place in range(len(spec.sinks))])
    if (run := spec.scrapy_run) is not None and run.name is not None:
        named = {"project": storable(run.name), "jobid": storable(run.jobid or id)}
        db.execute(insert(scrapyd_jobs).values(job=id, **named))


def load_job(store: Store, id: str, owner: str | None = None) -> Job:
    """Raises UnknownJob also for another owner's job if an owner is given."""
    with store.read() as db:
        row = db.execute(select(jobs).where(jobs.c.id == storable(id), owned_by(owner))).one_or_none()
    if row is None:
        raise UnknownJob(f"there is no job {id!r}: `shoal jobs` lists them")
    return job_from_row(row)


def owned_by(owner: str | None) -> ColumnElement[bool]:
    """Matches the jobs of this owner; all jobs if it is None."""
    return true() if owner is None else jobs.c.owner == owner


def find_job(store: Store, name: str, owner: str | None = None, fleet_only: bool = False) -> Job:
    """Finds a job by its id, by a unique beginning of its id, by its name, or the newest job if the name is "last".

    Of several jobs with one name it is the newest; an id wins over a name. Searches only this owner's jobs if an owner
    is given, and with `fleet_only` no name of a job that was crawled in the home.
    """
    if name == NEWEST:
        newest = list_jobs(store, 1, owner)
        if not newest:
            raise UnknownJob("there is no job yet: `shoal crawl URL` starts one")
        return newest[0]
    alike = select(jobs).where(jobs.c.id.startswith(storable(name), autoescape=True), owned_by(owner))
    named = select(jobs).where(jobs.c.name == storable(name), owned_by(owner), jobs.c.fleet if fleet_only else true())
    with store.read() as db:
        rows = db.execute(alike.order_by(jobs.c.id).limit(_MOST_CANDIDATES)).all()
        exact = [row for row in rows if row.id == name] or (rows if len(rows) == 1 else [])
        found = exact or db.execute(_newest_first(named).limit(1)).all()
    if not found:
        raise _not_one(name, [row.id for row in rows], list_jobs(store, _MOST_NAMES, owner))
    return job_from_row(found[0])


def _not_one(name: str, candidates: list[str], newest: list[Job]) -> UsageError:
    if candidates:
        return UsageError(f"several job ids begin with {name!r}: {', '.join(candidates)}; give more of the id")
    if not newest:
        return UnknownJob(f"there is no job {name!r}, nor any other job")
    from difflib import get_close_matches

    if near := get_close_matches(name, dict.fromkeys(job.spec.name for job in newest)):
        return UnknownJob(f"there is no job {name!r}; did you mean {' or '.join(map(repr, near))}?")
    known = ", ".join(f"{job.id} {job.spec.name!r}" for job in newest[:_MOST_CANDIDATES])
    return UnknownJob(f"there is no job {name!r}; the newest are: {known}")


def _newest_first(found: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    return found.order_by(jobs.c.created_at.desc(), jobs.c.id.desc())


def list_jobs(store: Store, limit: int, owner: str | None = None) -> list[Job]:
    """Newest first; only this owner's jobs if an owner is given."""
    with store.read() as db:
        return [
            job_from_row(row) for row in db.execute(_newest_first(select(jobs).where(owned_by(owner))).limit(limit))
        ]


def unfinished_jobs(store: Store, owner: str | None = None) -> list[Job]:
    """The fleet's jobs that have not ended, oldest first; only this owner's if an owner is given."""
    open_jobs = select(jobs).where(jobs.c.fleet, jobs.c.state.not_in(ENDED), owned_by(owner))
    with store.read() as db:
        return [job_from_row(row) for row in db.execute(open_jobs.order_by(jobs.c.created_at, jobs.c.id))]


class JobCounts(NamedTuple):
    by_state: dict[JobState, int]
    unfinished: dict[Lane, int]


def count_jobs(store: Store, owner: str | None = None) -> JobCounts:
    """Counts the fleet's jobs; only this owner's if an owner is given."""
    by_state = select(jobs.c.state, func.count()).where(jobs.c.fleet, owned_by(owner)).group_by(jobs.c.state)
    with store.read() as db:
        counts = {JobState(state): n for state, n in db.execute(by_state)}
    return JobCounts(counts, dict(Counter(job.spec.lane for job in unfinished_jobs(store, owner))))


def earlier_jobs(store: Store, id: str, limit: int) -> list[Job]:
    """The jobs of the same name and owner that are older than this one, newest first."""
    this = jobs.alias("this")
    same_name = (jobs.c.name == this.c.name) & jobs.c.owner.is_not_distinct_from(this.c.owner)
    earlier = (this.c.id == id) & same_name & (jobs.c.created_at < this.c.created_at)
    newest_first = select(jobs).join(this, earlier).order_by(jobs.c.created_at.desc()).limit(limit)
    with store.read() as db:
        return [job_from_row(row) for row in db.execute(newest_first)]


def set_state(store: Store, id: str, state: JobState, at: float, reason: str | None = None) -> None:
    """Running sets `started_at` once. An ended state sets `finished_at`; any other state clears it."""
    with store.write() as db:
        _set_state(db, id, state, at, reason)


def _set_state(db: Connection, id: str, state: JobState, at: float, reason: str | None) -> None:
    words = None if reason is None else storable(reason)
    add_delivery(db, id, state, at, words)
    values: dict[str, Any] = {"state": state, "reason": words, "finished_at": at if state in ENDED else None}
    if state is JobState.RUNNING:
        values["started_at"] = func.coalesce(jobs.c.started_at, at)
    db.execute(update(jobs).where(jobs.c.id == id).values(values))


def set_state_unless_ended(store: Store, id: str, state: JobState, at: float, reason: str | None = None) -> bool:
    """Like `set_state`, for a command of a user. Returns False and changes nothing if the job has ended meanwhile."""
    with store.write() as db:
        now = lock_state(db, id)
        if now not in ENDED:
            _set_state(db, id, state, at, reason)
    return now not in ENDED


def fail_unless_ended(store: Store, id: str, at: float, reason: str) -> None:
    with store.write() as db:
        if lock_state(db, id) not in ENDED:
            _set_state(db, id, JobState.FAILED, at, reason)


def reopen_ended(store: Store, id: str, state: JobState, at: float, reason: str | None = None) -> bool:
    """Like `set_state`, for a job that has ended. Returns False and changes nothing if the job was cancelled."""
    with store.write() as db:
        now = lock_state(db, id)
        if now in ENDED and now is not JobState.CANCELLED:
            _set_state(db, id, state, at, reason)
    return now is not JobState.CANCELLED


def start_queued_job(store: Store, id: str, at: float) -> JobState:
    """Sets a queued job to running. Returns the state, which may differ: a user may have changed it first."""
    with store.write() as db:
        state = lock_state(db, id)
        if state is not JobState.QUEUED:
            return state
        _set_state(db, id, JobState.RUNNING, at, None)
    return JobState.RUNNING


def end_if_seeded(store: Store, id: str, state: JobState, at: float, reason: str | None) -> bool:
    """Like `set_state`. Returns False and changes nothing if URLs were appended after the job ran out of requests."""
    with store.write() as db:
        # Locked: either a client that appends finds the job ended, or this finds the appended inputs.
        row = db.execute(select(jobs.c.seeded, jobs.c.state).where(jobs.c.id == id).with_for_update()).one()
        # If a user has ended the job, its state stays.
        if row.seeded and row.state not in ENDED:
            _set_state(db, id, state, at, reason)
    return bool(row.seeded)


def lock_state(db: Connection, id: str) -> JobState:
    """Locks the job's state until the transaction ends and returns it. Raises UnknownJob if the job was removed."""
    state = db.execute(select(jobs.c.state).where(jobs.c.id == id).with_for_update()).scalar()
    if state is None:
        raise UnknownJob(f"there is no job {id!r} any more: somebody removed it")
    return JobState(state)


def reopen(db: Connection, id: str, at: float) -> None:
    """Sets an ended job to running, in a transaction that has locked it."""
    _set_state(db, id, JobState.RUNNING, at, None)


def add_seconds(store: Store, id: str, seconds: float) -> None:
    _update(store, id, {"seconds": jobs.c.seconds + seconds})


def mark_seeded(store: Store, id: str, line: int | None = None) -> None:
    """Records that inputs up to this line, or all, have been offered; clients may have appended more meanwhile."""
    with store.write() as db:
        # Locked: a client appends either before this reads the last line or after.
        db.execute(select(jobs.c.id).where(jobs.c.id == id).with_for_update())
        last = last_seed_line(db, id)
        values = {"seeded": line is None or line >= last, "offered_line": last if line is None else line}
        db.execute(update(jobs).where(jobs.c.id == id).values(values))


def change_spec(
    store: Store,
    id: str,
    change: Callable[[JobSpec], JobSpec],
    version: int | None,
    at: float,
    goes_on: JobState = JobState.RUNNING,
) -> Job | None:
    """Returns None and changes nothing if the spec has another version than `version`; None matches any version.

    If a limit ended the job and the change raises it, the job gets the state `goes_on`. Raises UnknownJob, and
    UsageError for any other job that has ended.
    """
    with store.write() as db:
        # Locked: if two callers change the spec at once, the second changes the result of the first.
        row = db.execute(select(jobs).where(jobs.c.id == storable(id)).with_for_update()).one_or_none()
        if row is None:
            raise UnknownJob(f"there is no job {id!r}")
        job = job_from_row(row)
        if version is not None and version != job.version:
            return None
        changed = replace(job, spec=change(job.spec), version=job.version + 1)
        if job.state in ENDED:
            _check_reopens(job, changed.spec)
            _set_state(db, job.id, goes_on, at, None)
            changed = replace(changed, state=goes_on, reason=None, finished_at=None)
        values = {"spec": changed.spec.to_json(), "version": changed.version}
        db.execute(update(jobs).where(jobs.c.id == job.id).values(values))
    return changed


def _check_reopens(job: Job, spec: JobSpec) -> None:
    if job.state is not JobState.LIMITED:
        raise UsageError(f"job {job.id} is {job.state}: only a running or limited job can be changed")
    if not spec.limits.allow_more_than(job.spec.limits):
        raise UsageError(f"job {job.id} is limited, {job.reason}: raise that limit to let it continue")


def note_frontier_version(store: Store, id: str, version: int) -> None:
    """Records what the frontier received last, even if that is an older version than the recorded one."""
    _update(store, id, {"told": version})


def note_extraction(store: Store, id: str, spider: str, version: str) -> None:
    _update(store, id, {"extracted_by": spider, "spider_versions": json.dumps([version])})


def add_spider_version(store: Store, id: str, version: str) -> None:
    """Keeps the versions that worked on the job before."""
    with store.write() as db:
        # Locked: workers may load the spider at once.
        known = select(jobs.c.spider_versions).where(jobs.c.id == id).with_for_update()
        versions = json.loads(db.execute(known).scalar() or "[]")
        if version not in versions:
            text = json.dumps([*versions, version])
            db.execute(update(jobs).where(jobs.c.id == id).values(spider_versions=text))


def admit(store: Store, id: str, hosts: Iterable[str]) -> None:
    """Adds hosts to the scope and keeps those already in it."""
    with store.write() as db:
        # Locked: otherwise, of two callers that admit hosts at once, one would overwrite the other.
        known = select(jobs.c.admitted).where(jobs.c.id == id).with_for_update()
        admitted = json.loads(db.execute(known).scalar_one())
        joined = list(dict.fromkeys([*admitted, *hosts]))
        db.execute(update(jobs).where(jobs.c.id == id).values(admitted=json.dumps(joined)))


def _update(store: Store, id: str, values: dict[str, Any]) -> None:
    with store.write() as db:
        db.execute(update(jobs).where(jobs.c.id == id).values(values))


@lru_cache(_SPECS_KEPT)
def _known_spec(text: str) -> JobSpec:
    """Whoever watches jobs reads the same specs every second, and reading them is the dearest part of that."""
    return JobSpec.from_json(text)


def job_from_row(row: Row[*tuple[Any, ...]]) -> Job:
    return Job(
        id=row.id,
        spec=_known_spec(row.spec) if len(row.spec) <= _SHORT_CHARS else JobSpec.from_json(row.spec),
        state=JobState(row.state),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        seconds=row.seconds,
        reason=row.reason,
        admitted=tuple(json.loads(row.admitted)),
        seeded=row.seeded,
        offered_line=row.offered_line,
        version=row.version,
        frontier_version=row.told,
        fleet=row.fleet,
        request_id=row.request_id,
        extracted_by=row.extracted_by,
        spider_version=", ".join(json.loads(row.spider_versions)) if row.spider_versions else None,
        owner=row.owner,
    )
