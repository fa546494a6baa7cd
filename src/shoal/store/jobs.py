"""Jobs: creates, loads, finds and counts them. `job_state.py` and `job_changes.py` change them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import UnknownJob, UsageError
from shoal.model import ENDED, NEWEST, Input, JobSpec, JobState, Lane
from shoal.store.crawl.inputs import add_inputs, last_seed_line
from shoal.store.database.plain_sql import first, insert_row, run
from shoal.store.database.sqlite_script import columns_of
from shoal.store.database.storable_text import storable
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Row, Transaction

_MOST_CANDIDATES = 10
_READ_AHEAD = 20_000
_SPECS_KEPT = 500
_SHORT_CHARS = 16_000
"""Longer specs, with long rules or certificates, are not kept."""
_MOST_NAMES = 200
"""Of so many jobs the name nearest to an unknown one is looked for."""
SELECT_JOBS = f"SELECT {', '.join(columns_of('jobs').names)} FROM jobs"
_OWNED = "(CAST(:owner AS TEXT) IS NULL OR owner = :owner)"
"""Matches the jobs of this owner; all jobs if it is None."""
_NEWEST_FIRST = "ORDER BY created_at DESC, id DESC LIMIT :most"


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the store has it."""

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

    def time_span(self, now: float) -> tuple[float, float]:
        """From its start to its end, or to now."""
        return self.started_at or self.created_at, self.finished_at or now

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
    begun = list(islice(given, _READ_AHEAD))
    with store.write_plain() as db:
        add_inputs(db, id, chain(begun, given))
        about = {"created_at": created_at, "fleet": fleet, "request_id": request_id, "owner": owner}
        _insert_job(db, id, spec(), about)


def _insert_job(db: Transaction, id: str, spec: JobSpec, about: Mapping[str, Any]) -> None:
    values = {
        "id": id,
        "name": storable(spec.name),
        "state": JobState.QUEUED,
        "spec": spec.to_json(),
        "seconds": 0.0,
        "admitted": "[]",
        # A job without inputs has nothing to offer until a client appends some; only a fleet allows that.
        "seeded": bool(about["fleet"] and not last_seed_line(db, id)),
        "offered_line": 0,
        "version": 1,
        "told": 1,
    }
    insert_row(db, "jobs", {**values, **about})
    for place in range(len(spec.sinks)):
        new = {"job": id, "place": place, "cursor": "{}", "batch": 0, "delivered": 0, "stuck": False}
        insert_row(db, "sinks", new)
    if (scrapy := spec.scrapy_run) is not None and scrapy.name is not None:
        named = {"project": storable(scrapy.name), "jobid": storable(scrapy.jobid or id)}
        insert_row(db, "scrapyd_jobs", {"job": id, **named})


def load_job(store: Store, id: str, owner: str | None = None) -> Job:
    """Raises UnknownJob also for another owner's job if an owner is given."""
    with store.read_plain() as db:
        row = first(db, f"{SELECT_JOBS} WHERE id = :id AND {_OWNED}", {"id": storable(id), "owner": owner})
    if row is None:
        raise UnknownJob(f"there is no job {id!r}: `shoal jobs` lists them")
    return job_from_row(row)


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
    values = {"name": storable(name), "owner": owner, "fleet_only": fleet_only}
    # Compared as it is: in a pattern of LIKE, some characters would stand for others.
    begins = "substr(id, 1, length(CAST(:name AS TEXT))) = :name"
    alike = f"{SELECT_JOBS} WHERE {begins} AND {_OWNED} ORDER BY id LIMIT {_MOST_CANDIDATES}"
    named = f"{SELECT_JOBS} WHERE name = :name AND {_OWNED} AND (fleet OR NOT :fleet_only) {_NEWEST_FIRST}"
    with store.read_plain() as db:
        rows = [job_from_row(row) for row in run(db, alike, values)]
        exact = [job for job in rows if job.id == name] or (rows if len(rows) == 1 else [])
        found = exact or [job_from_row(row) for row in run(db, named, {**values, "most": 1})]
    if not found:
        raise _not_one(name, [job.id for job in rows], list_jobs(store, _MOST_NAMES, owner))
    return found[0]


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


def list_jobs(store: Store, limit: int, owner: str | None = None) -> list[Job]:
    """Newest first; only this owner's jobs if an owner is given."""
    return _jobs(store, f"WHERE {_OWNED} {_NEWEST_FIRST}", owner=owner, most=limit)


def unfinished_jobs(store: Store, owner: str | None = None) -> list[Job]:
    """The fleet's jobs that have not ended, oldest first; only this owner's if an owner is given."""
    ended = ", ".join(f"'{state.value}'" for state in sorted(ENDED))
    return _jobs(store, f"WHERE fleet AND state NOT IN ({ended}) AND {_OWNED} ORDER BY created_at, id", owner=owner)


def _jobs(store: Store, where: str, **values: Any) -> list[Job]:
    with store.read_plain() as db:
        return [job_from_row(row) for row in run(db, f"{SELECT_JOBS} {where}", values)]


class JobCounts(NamedTuple):
    by_state: dict[JobState, int]
    unfinished: dict[Lane, int]


def count_jobs(store: Store, owner: str | None = None) -> JobCounts:
    """Counts the fleet's jobs; only this owner's if an owner is given."""
    by_state = f"SELECT state, count(*) FROM jobs WHERE fleet AND {_OWNED} GROUP BY state"
    with store.read_plain() as db:
        counts = {JobState(state): n for state, n in run(db, by_state, {"owner": owner})}
    return JobCounts(counts, dict(Counter(job.spec.lane for job in unfinished_jobs(store, owner))))


def earlier_jobs(store: Store, id: str, limit: int) -> list[Job]:
    """The jobs of the same name and owner that are older than this one, newest first."""
    is_earlier = (
        "EXISTS(SELECT 1 FROM jobs this WHERE this.id = :id AND jobs.name = this.name "
        "AND coalesce(jobs.owner, '') = coalesce(this.owner, '') AND jobs.created_at < this.created_at)"
    )
    return _jobs(store, f"WHERE {is_earlier} {_NEWEST_FIRST}", id=id, most=limit)


@lru_cache(_SPECS_KEPT)
def _known_spec(text: str) -> JobSpec:
    """Whoever watches jobs reads the same specs every second, and reading them is the dearest part of that."""
    return JobSpec.from_json(text)


def job_from_row(row: Row) -> Job:
    """Takes a row of the whole table."""
    found = dict(zip(columns_of("jobs").names, row, strict=True))
    return Job(
        id=found["id"],
        spec=_known_spec(found["spec"]) if len(found["spec"]) <= _SHORT_CHARS else JobSpec.from_json(found["spec"]),
        state=JobState(found["state"]),
        created_at=found["created_at"],
        started_at=found["started_at"],
        finished_at=found["finished_at"],
        seconds=found["seconds"],
        reason=found["reason"],
        admitted=tuple(json.loads(found["admitted"])),
        seeded=bool(found["seeded"]),
        offered_line=found["offered_line"],
        version=found["version"],
        frontier_version=found["told"],
        fleet=bool(found["fleet"]),
        request_id=found["request_id"],
        extracted_by=found["extracted_by"],
        spider_version=", ".join(json.loads(found["spider_versions"])) if found["spider_versions"] else None,
        owner=found["owner"],
    )
