"""Decides what becomes of a request that the host blocks: a retry, or a dead letter that says who blocks."""

from __future__ import annotations

from shoal.engine import request_result
from shoal.engine.active_job import ActiveJob
from shoal.engine.reading.retry_policy import RETRY_STATUSES, retry_wait_s
from shoal.engine.request_result import RequestResult
from shoal.fetch.blocks.find_block import Block
from shoal.fetch.exchange import Exchange
from shoal.model import Lease

BLOCKED = "blocked"
"""The kind of the failure, and the reason of the dead letter."""


def blocked(active_job: ActiveJob, lease: Lease, answer: Exchange, block: Block) -> RequestResult:
    """Only a status that asks for patience is retried."""
    asks_to_wait = answer.status in RETRY_STATUSES or answer.status >= 500
    if asks_to_wait and lease.attempt < active_job.spec.retries:
        result = request_result.retry(lease, BLOCKED, answer.status, retry_wait_s(lease.attempt))
    else:
        result = request_result.dead(lease, BLOCKED, answer.status, f"{block.words}: {block.next_step}")
    result.why = block.words
    return result
