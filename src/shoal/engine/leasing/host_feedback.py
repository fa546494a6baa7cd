"""Tells the frontier what the clocks of hosts learn from responses: a slot is free, the latency, errors, Retry-After.

One response gives one `Landing`. Several are sent with one call.
"""

from __future__ import annotations

import asyncio
import time

from shoal.engine.charge_rendering import charged_requests
from shoal.engine.leasing.frontier_client import FrontierClient
from shoal.engine.leasing.leasing_wake import LATER_S, SOON_S, LeasingWake
from shoal.fetch.exchange import NOTHING_SENT, Exchange, Failure, retry_after_s
from shoal.fetch.robots import RobotsFile
from shoal.model import Landing, Lease
from shoal.urls import domain_of

BLOCKED_STATUS = 429
"""What the clock takes a block for, whatever status the host gives its refusal."""


class HostFeedback:
    def __init__(self, frontier_client: FrontierClient, wake: LeasingWake) -> None:
        """Wakes with every landing: its host may have a free slot."""
        self._frontier_client = frontier_client
        self._wake = wake
        self._landings: list[Landing] = []
        self._sending = asyncio.Lock()

    def add(self, landing: Landing, gap_s: float = 0.0) -> None:
        """Because of the gap between the host's starts, the slot is not needed at once. So the landing is usually sent
        together with the end of its lease."""
        self._landings.append(landing)
        if gap_s < SOON_S:
            self._wake.now()
        else:
            self._wake.later(min(LATER_S, max(SOON_S, gap_s - landing.latency_s - landing.late_s)))

    def take(self) -> list[Landing]:
        """For a caller that sends them itself."""
        landings, self._landings = self._landings, []
        return landings

    async def send(self) -> None:
        async with self._sending:
            if landings := self.take():
                await self._frontier_client.landed(landings)


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


def landing_of_block(lease: Lease, answer: Exchange, late_s: float) -> Landing:
    """Slows the host down."""
    wait_s = retry_after_s(answer.headers.get("retry-after"), time.time())
    return Landing(lease.token, answer.latency_s, BLOCKED_STATUS, None, wait_s, late_s)


def landing_of_robots(lease: Lease, robots: RobotsFile) -> Landing:
    """Of a robots.txt that could not be fetched."""
    failure = robots.failure.kind.value if robots.failure else None
    latency_s = robots.failure.latency_s if robots.failure else 0.0
    return Landing(lease.token, latency_s, robots.status, failure, robots.retry_after_s)
