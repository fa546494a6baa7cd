"""What the clock of a host learns from an answer."""

from __future__ import annotations

import time

from shoal.engine.charge_rendering import charged_requests
from shoal.fetch.exchange import NOTHING_SENT, Exchange, Failure, retry_after_s
from shoal.model import Landing, Lease
from shoal.urls import domain_of

BLOCKED_STATUS = 429
"""What the clock takes a block for, whatever status the host gives its refusal."""


def landing_of(lease: Lease, answer: Exchange | Failure, late_s: float) -> Landing | None:
    """None if there is nothing to learn."""
    if isinstance(answer, Failure):
        if answer.kind in NOTHING_SENT:
            return None
        return Landing(lease.token, answer.latency_s, None, answer.kind.value, late_s=late_s)
    wait_s = retry_after_s(answer.headers.get("retry-after"), time.time())
    place = (answer.ip, domain_of(lease.target.host)) if answer.ip else ()
    landing = Landing(lease.token, answer.latency_s, answer.status, None, wait_s, late_s, *place)
    landing.network_s = answer.network_s
    landing.charged = charged_requests(lease.target.host, answer)
    return landing


def block_landing(lease: Lease, answer: Exchange, late_s: float) -> Landing:
    """Slows the host down."""
    wait_s = retry_after_s(answer.headers.get("retry-after"), time.time())
    return Landing(lease.token, answer.latency_s, BLOCKED_STATUS, None, wait_s, late_s)
