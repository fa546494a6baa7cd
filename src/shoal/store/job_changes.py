"""Changes a job while it is crawled: its spec, how far its inputs are offered, its hosts, and its spiders' versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from shoal.errors import UnknownJob, UsageError
from shoal.model import ENDED, JobSpec, JobState
from shoal.store.crawl.inputs import last_seed_line
from shoal.store.database.plain_sql import first, for_update, run, value
from shoal.store.database.storable_text import storable
from shoal.store.job_state import change_state, update_job
from shoal.store.jobs import SELECT_JOBS, Job, job_from_row
from shoal.store.store import Store


def add_seconds(store: Store, id: str, seconds: float) -> None:
    with store.write_plain() as db:
        run(db, "UPDATE jobs SET seconds = seconds + :more WHERE id = :id", {"id": id, "more": seconds})


def mark_seeded(store: Store, id: str, line: int | None = None) -> None:
    """Records that inputs up to this line, or all, have been offered; clients may have appended more meanwhile."""
    with store.write_plain() as db:
        # Locked: a client appends either before this reads the last line or after.
        run(db, f"SELECT id FROM jobs WHERE id = :id {for_update(db)}", {"id": id})
        last = last_seed_line(db, id)
        update_job(db, id, {"seeded": line is None or line >= last, "offered_line": last if line is None else line})


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
    with store.write_plain() as db:
        # Locked: if two callers change the spec at once, the second changes the result of the first.
        row = first(db, f"{SELECT_JOBS} WHERE id = :id {for_update(db)}", {"id": storable(id)})
        if row is None:
            raise UnknownJob(f"there is no job {id!r}")
        job = job_from_row(row)
        if version is not None and version != job.version:
            return None
        changed = replace(job, spec=change(job.spec), version=job.version + 1)
        if job.state in ENDED:
            _check_reopens(job, changed.spec)
            change_state(db, job.id, goes_on, at, None)
            changed = replace(changed, state=goes_on, reason=None, finished_at=None)
        update_job(db, job.id, {"spec": changed.spec.to_json(), "version": changed.version})
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
    with store.write_plain() as db:
        # Locked: workers may load the spider at once.
        known = value(db, f"SELECT spider_versions FROM jobs WHERE id = :id {for_update(db)}", {"id": id})
        versions = json.loads(known or "[]")
        if version not in versions:
            update_job(db, id, {"spider_versions": json.dumps([*versions, version])})


def admit(store: Store, id: str, hosts: Iterable[str]) -> None:
    """Adds hosts to the scope and keeps those already in it."""
    with store.write_plain() as db:
        # Locked: otherwise, of two callers that admit hosts at once, one would overwrite the other.
        admitted = value(db, f"SELECT admitted FROM jobs WHERE id = :id {for_update(db)}", {"id": id})
        update_job(db, id, {"admitted": json.dumps(list(dict.fromkeys([*json.loads(admitted), *hosts])))})


def _update(store: Store, id: str, values: dict[str, Any]) -> None:
    with store.write_plain() as db:
        update_job(db, id, values)
