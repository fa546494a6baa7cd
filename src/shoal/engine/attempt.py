"""One attempt to fetch a leased request: what the pipeline knows about it from the lease to the answer."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.engine.active_job import ActiveJob
from shoal.engine.leasing.start_times import LeaseTiming
from shoal.engine.reading.conditional_recrawl import KnownPage
from shoal.engine.robots.check import RobotsDecision
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure
from shoal.fetch.proxies.exits import Exit
from shoal.model import Lease


@dataclass(slots=True)
class Attempt:
    lease: Lease
    active_job: ActiveJob
    known: KnownPage | None
    timing: LeaseTiming
    decision: RobotsDecision
    exit: Exit | None = None
    """The proxy; None: the job has none."""


@dataclass(slots=True)
class AnsweredAttempt:
    attempt: Attempt
    call: Fetch
    answer: Exchange | Failure
    late_s: float
    """How much later than planned the request began."""
