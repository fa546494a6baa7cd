"""The quality of a job's items, and that of the previous run for comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.jobs.data_view import default_data
from shoal.model import JobState
from shoal.store.jobs import Job
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.results.quality import FieldQuality

Quality = tuple[list["FieldQuality"], list["FieldQuality"]]
"""Of the job, and of the previous run."""

_MEASURED = frozenset({JobState.DONE, JobState.LIMITED, JobState.FAILED})


def job_quality(store: Store, job: Job) -> Quality:
    """Empty for a job without items, or one that has not finished: all its fields would seem to be missing."""
    if default_data(job) != "items" or job.state not in _MEASURED:
        return [], []
    # Imported here only: a job without items does not need it.
    from shoal.store.results.quality import last_quality, load_quality

    now, before = load_quality(store, job.id), last_quality(store, job.spec.name, job.id)
    if job.extracted_by is not None:
        # If the new extraction lacks a type of the crawl, that is not a loss.
        types = {field.type for field in now}
        before = [field for field in before if field.type in types]
    return now, before
