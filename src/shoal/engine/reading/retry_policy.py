"""Decides what a response or a failure means for its request: final, retry, or given up."""

from __future__ import annotations

import random

from shoal.fetch.exchange import Exchange, Failure, FailureKind
from shoal.model import Outcome

RETRY_STATUSES = frozenset({408, 429})
RETRY_WAITS_S = (1.0, 2.0, 4.0, 8.0)
JITTER = 0.1
MAX_HOPS = 20
HOPELESS = frozenset(
    {
        *(FailureKind.TOO_LARGE, FailureKind.CERTIFICATE, FailureKind.CLIENT_CERTIFICATE, FailureKind.PLAIN_HTTP),
        *(FailureKind.RENDER, FailureKind.STEP, FailureKind.NO_PLAYWRIGHT),
    }
)
"""Failures that a retry would not change."""


def verdict(answer: Exchange | Failure) -> Outcome:
    """The outcome by the response alone. RETRY may still become DEAD when all attempts are used up."""
    if isinstance(answer, Failure):
        if answer.kind is FailureKind.ADDRESS_REFUSED:
            return Outcome.DROP
        return Outcome.DEAD if answer.kind in HOPELESS else Outcome.RETRY
    if answer.status in RETRY_STATUSES or answer.status >= 500:
        return Outcome.RETRY
    if answer.location is not None:
        return Outcome.REDIRECT
    return Outcome.DONE


def retry_wait_s(attempt: int) -> float:
    wait_s = RETRY_WAITS_S[min(attempt, len(RETRY_WAITS_S) - 1)]
    return wait_s * random.uniform(1 - JITTER, 1 + JITTER)
