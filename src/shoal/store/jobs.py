"""Jobs: what was asked for, and how far it got."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, true, update

from shoal.errors import UnknownJob, UsageError
from shoal.model import ENDED, Input, JobSpec, JobState, Lane
from shoal.store.inputs import add_inputs, last_seed_line
from shoal.store.store import Store
from shoal.store.tables import jobs
from shoal.store.text import storable
from shoal.store.webhooks import note_change

_MOST_CANDIDATES = 10


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    spec: JobSpec
    state: JobState
    created_at: float
    started_at: float | None
    finished_at: float | None
    seconds: float
    """How long it has been worked on, over all its runs."""
    reason: str | None
    admitted: tuple[str, ...]
    """Hosts that joined the scope because a seed redirects there."""
    seeded: bool
    """All its inputs have been offered."""
    offered_line: int
    """Inputs up to this line were; 0: not all that it began with."""
    version: int
    """Of the spec: one more with every change."""
    told: int
    """The version whose terms the frontier has."""
    fleet: bool
    """Workers of a fleet crawl it; otherwise one process of its home does."""
    request_id: str | None
    """Of the call of the API that began it."""
    extracted_by: str | None
    """The spider that its items were last extracted by, after the crawl; rules as JSON text."""
    owner: str | None
    """The id of the submit token that it belongs to; None: it is the admins', or everybody's where jobs are shared."""

    @property
    def about(self) -> dict[str, str]:
        """What every log line about it carries."""
        return {"job": self.id, **({"request_id": self.request_id} if self.request_id else {})}

    @property
    def awaits_urls(self) -> bool:
        """It was made without any, and none has been appended yet."""
        return self.seeded and self.started_at is None

    @property
    def gives_items(self) -> bool:
        return self.spec.spider is not None or self.spec.rules is not None or self.extracted_by is not None


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
    """Either the job is there with all its inputs or not at all; any number of inputs passes through.

    The spec is asked for when they have, because what they carry (credentials) belongs to it.
    """
    with store.write() as db:
        add_inputs(db, id, inputs)
        about = {"created_at": created_at, "fleet": fleet, "request_id": request_id, "owner": owner}
        _insert_job(db, id, spec(), about)


def _insert_job(db: Connection, id: str, spec: JobSpec, about: Mapping[str, Any]) -> None:
    # Without inputs there is nothing to offer, until some are appended; that is done on a fleet only.
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


def load_job(store: Store, id: str, owner: str | None = None) -> Job:
    """Another's is not known if an owner is given."""
    with store.read() as db:
        row = db.execute(select(jobs).where(jobs.c.id == storable(id), of_owner(owner))).one_or_none()
    if row is None:
        raise UnknownJob(f"there is no job {id!r}: `shoal jobs` lists them")
    return job_of(row)


def of_owner(owner: str | None) -> ColumnElement[bool]:
    """Jobs of this owner; all, if none is given."""
    return true() if owner is None else jobs.c.owner == owner


def find_job(store: Store, name: str, owner: str | None = None) -> Job:
    """The job with this id, the only one whose id begins so, or the newest if the name is "last"; of this owner's, if
    one is given."""
    if name == "last":
        newest = list_jobs(store, 1, owner)
        if not newest:
            raise UnknownJob("there is no job yet: `shoal crawl URL` starts one")
        return newest[0]
    alike = select(jobs).where(jobs.c.id.startswith(storable(name), autoescape=True), of_owner(owner))
    with store.read() as db:
        rows = db.execute(alike.order_by(jobs.c.id).limit(_MOST_CANDIDATES)).all()
    exact = [row for row in rows if row.id == name]
    if len(exact or rows) != 1:
        raise _not_one(name, [row.id for row in rows], list_jobs(store, _MOST_CANDIDATES, owner))
    return job_of((exact or rows)[0])


def _not_one(name: str, candidates: list[str], newest: list[Job]) -> UsageError:
    if candidates:
        return UsageError(f"{name!r} is the beginning of several jobs: {', '.join(candidates)}")
    known = ", ".join(job.id for job in newest)
    return UnknownJob(f"there is no job {name!r}{f'; the newest are: {known}' if known else ', nor any'}")


def list_jobs(store: Store, limit: int, owner: str | None = None) -> list[Job]:
    """Newest first; of this owner's, if one is given."""
    newest_first = select(jobs).where(of_owner(owner)).order_by(jobs.c.created_at.desc(), jobs.c.id.desc())
    with store.read() as db:
        return [job_of(row) for row in db.execute(newest_first.limit(limit))]


def unfinished(store: Store, owner: str | None = None) -> list[Job]:
    """The fleet's jobs that have not ended, oldest first; of this owner's, if one is given."""
    open_jobs = select(jobs).where(jobs.c.fleet, jobs.c.state.not_in(ENDED), of_owner(owner))
    with store.read() as db:
        return [job_of(row) for row in db.execute(open_jobs.order_by(jobs.c.created_at, jobs.c.id))]


class JobCounts(NamedTuple):
    by_state: dict[JobState, int]
    unfinished: dict[Lane, int]


def count_jobs(store: Store, owner: str | None = None) -> JobCounts:
    """The fleet's; of this owner's, if one is given."""
    by_state = select(jobs.c.state, func.count()).where(jobs.c.fleet, of_owner(owner)).group_by(jobs.c.state)
    with store.read() as db:
        counts = {JobState(state): n for state, n in db.execute(by_state)}
    return JobCounts(counts, dict(Counter(job.spec.lane for job in unfinished(store, owner))))


def earlier_jobs(store: Store, id: str, limit: int) -> list[Job]:
    """The jobs of the same name and owner that are older than this one, newest first."""
    this = jobs.alias("this")
    same_name = (jobs.c.name == this.c.name) & jobs.c.owner.is_not_distinct_from(this.c.owner)
    earlier = (this.c.id == id) & same_name & (jobs.c.created_at < this.c.created_at)
    newest_first = select(jobs).join(this, earlier).order_by(jobs.c.created_at.desc()).limit(limit)
    with store.read() as db:
        return [job_of(row) for row in db.execute(newest_first)]


def set_state(store: Store, id: str, state: JobState, at: float, reason: str | None = None) -> None:
    """The first run sets `started_at`; an ended state sets `finished_at`, any other takes it back."""
    with store.write() as db:
        _set_state(db, id, state, at, reason)


def _set_state(db: Connection, id: str, state: JobState, at: float, reason: str | None) -> None:
    words = None if reason is None else storable(reason)
    note_change(db, id, state, at, words)
    values: dict[str, Any] = {"state": state, "reason": words, "finished_at": at if state in ENDED else None}
    if state is JobState.RUNNING:
        values["started_at"] = func.coalesce(jobs.c.started_at, at)
    db.execute(update(jobs).where(jobs.c.id == id).values(values))


def steer(store: Store, id: str, state: JobState, at: float) -> bool:
    """As `set_state`, by an operator's word; False, and nothing changes, if the job has ended meanwhile."""
    with store.write() as db:
        now = held_state(db, id)
        if now not in ENDED:
            _set_state(db, id, state, at, None)
    return now not in ENDED


def reopen_ended(store: Store, id: str, state: JobState, at: float, reason: str | None = None) -> bool:
    """As `set_state`, if the job has ended; False, and nothing changes, of one that was cancelled."""
    with store.write() as db:
        now = held_state(db, id)
        if now in ENDED and now is not JobState.CANCELLED:
            _set_state(db, id, state, at, reason)
    return now is not JobState.CANCELLED


def begin(store: Store, id: str, at: float) -> JobState:
    """A job that waits to be taken up is running from now on; says what it is: an operator may have been quicker."""
    with store.write() as db:
        state = held_state(db, id)
        if state is not JobState.QUEUED:
            return state
        _set_state(db, id, JobState.RUNNING, at, None)
    return JobState.RUNNING


def end_if_seeded(store: Store, id: str, state: JobState, at: float, reason: str | None) -> bool:
    """As `set_state`; False, and nothing changes, if URLs were appended since it was seen to have no more."""
    with store.write() as db:
        # Locked, so that whoever appends finds it ended, or this finds what was appended.
        row = db.execute(select(jobs.c.seeded, jobs.c.state).where(jobs.c.id == id).with_for_update()).one()
        # What an operator has ended stays as it is.
        if row.seeded and row.state not in ENDED:
            _set_state(db, id, state, at, reason)
    return bool(row.seeded)


def held_state(db: Connection, id: str) -> JobState:
    """Nobody else changes it until the transaction ends. Raises UnknownJob of a job that was removed."""
    state = db.execute(select(jobs.c.state).where(jobs.c.id == id).with_for_update()).scalar()
    if state is None:
        raise UnknownJob(f"there is no job {id!r} any more: it was removed")
    return JobState(state)


def reopen(db: Connection, id: str, at: float) -> None:
    """A job that had ended goes on, in a transaction that holds it."""
    _set_state(db, id, JobState.RUNNING, at, None)


def add_seconds(store: Store, id: str, seconds: float) -> None:
    _update(store, id, {"seconds": jobs.c.seconds + seconds})


def mark_seeded(store: Store, id: str, line: int | None = None) -> None:
    """Its inputs up to this line, or all, have been offered; others may have been appended meanwhile."""
    with store.write() as db:
        # Locked, so that whoever appends does so before this looks, or after.
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
    """None, and nothing changes, unless the spec is of this version; any, if none is given.

    A job that a limit ended is in the state `goes_on` if the change allows it more. Raises UnknownJob, and UsageError
    of any other job that has ended.
    """
    with store.write() as db:
        # Locked: of two that change it at once, the second changes what the first has made of it.
        row = db.execute(select(jobs).where(jobs.c.id == storable(id)).with_for_update()).one_or_none()
        if row is None:
            raise UnknownJob(f"there is no job {id!r}")
        job = job_of(row)
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
        raise UsageError(f"job {job.id} is {job.state}: there is nothing to change")
    if not spec.limits.allow_more_than(job.spec.limits):
        raise UsageError(f"job {job.id} is limited, {job.reason}: only with a higher limit can it go on")


def note_told(store: Store, id: str, version: int) -> None:
    """Also of an older version than was noted: whoever told it last, told it."""
    _update(store, id, {"told": version})


def note_extraction(store: Store, id: str, spider: str) -> None:
    _update(store, id, {"extracted_by": spider})


def admit(store: Store, id: str, hosts: Iterable[str]) -> None:
    """Lets more hosts into the scope; those already in stay where they are."""
    with store.write() as db:
        # Locked, or of two that let hosts in at once only one would be heard.
        known = select(jobs.c.admitted).where(jobs.c.id == id).with_for_update()
        admitted = json.loads(db.execute(known).scalar_one())
        joined = list(dict.fromkeys([*admitted, *hosts]))
        db.execute(update(jobs).where(jobs.c.id == id).values(admitted=json.dumps(joined)))


def _update(store: Store, id: str, values: dict[str, Any]) -> None:
    with store.write() as db:
        db.execute(update(jobs).where(jobs.c.id == id).values(values))


def job_of(row: Row[*tuple[Any, ...]]) -> Job:
    return Job(
        id=row.id,
        spec=JobSpec.from_json(row.spec),
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
        told=row.told,
        fleet=row.fleet,
        request_id=row.request_id,
        extracted_by=row.extracted_by,
        owner=row.owner,
    )
