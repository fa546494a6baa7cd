"""The quality of a job's items beside that of the last run before it."""

from __future__ import annotations

from shoal.jobs.data import default_data
from shoal.model import JobState
from shoal.store.jobs import Job
from shoal.store.quality import FieldQuality, last_quality, load_quality
from shoal.store.store import Store

Quality = tuple[list[FieldQuality], list[FieldQuality]]
"""Of a job, and of the last run before it."""

_MEASURED = frozenset({JobState.DONE, JobState.LIMITED, JobState.FAILED})


def job_quality(store: Store, job: Job) -> Quality:
    """Nothing of a job that gives no items or has not come to its end: there all would seem to be missing."""
    if default_data(job) != "items" or job.state not in _MEASURED:
        return [], []
    now, before = load_quality(store, job.id), last_quality(store, job.spec.name, job.id)
    if job.extracted_by is not None:
        # Other types than the crawls gave are no loss of theirs.
        types = {field.type for field in now}
        before = [field for field in before if field.type in types]
    return now, before
