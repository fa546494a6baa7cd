"""Drops answers of a type of files that their job does not fetch. Their transfers ended at the head."""

from __future__ import annotations

from shoal.engine import request_result
from shoal.engine.active_job import ActiveJob
from shoal.engine.reading.page_worth import learn_from_page
from shoal.engine.request_result import RequestResult
from shoal.engine.shape_statistics import Worth
from shoal.fetch.exchange import Exchange
from shoal.model import Lease
from shoal.urls import file_types


def drop_unwanted(active_job: ActiveJob, lease: Lease, answer: Exchange) -> RequestResult | None:
    """None: the answer is kept."""
    if not 200 <= answer.status < 300 or not active_job.checks_type(lease):
        return None
    content_type = answer.headers.get("content-type")
    name = active_job.types.refused_by_answer(content_type, lease.target.url)
    if name is None:
        return None
    learn_from_page(active_job, lease, Worth.USELESS)
    shown = f"its content type {content_type.partition(';')[0]} is of the type {name}, which the job does not fetch"
    return request_result.drop(lease, file_types.REASON, f"{shown}; {file_types.allowing(name)} does")
