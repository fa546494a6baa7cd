"""Leases for requests that Scrapy sends past its scheduler: robots.txt, media and `engine.download`.

They are queued in a job of the frontier that this process alone uses. So they take turns with the pages of all
processes at the clocks of their hosts, and the slots of a process that is killed are returned. The store does not know
that job.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from shoal.embedded.home import inline_caller
from shoal.errors import FrontierLost
from shoal.frontier.contract import Call, Caller, Frontier, Terms
from shoal.model import Completion, Lease, Offer, Outcome, Target

RENEWED_AFTER = 10_000
"""Requests after which the job is begun again when it is idle: it remembers all of them."""


class InlineRequest(NamedTuple):
    number: int
    url: str
    host: str

    @property
    def target(self) -> Target:
        # The note keeps the number as the fingerprint: a URL may be requested any number of times.
        return Target(self.url, self.number, self.host, note=str(self.number))


def inline_job(job: str, caller: str) -> str:
    return f"{job}+{caller}"


def inline_terms(terms: Terms) -> Terms:
    """Hosts are treated as by the job itself, whose limits count its pages only."""
    return Terms(
        terms.lane,
        terms.owner,
        gap_s=terms.gap_s,
        per_host=terms.per_host,
        hosts=terms.hosts,
        robots=terms.robots,
        own_workers=True,
    )


class InlineLeases:
    def __init__(
        self, frontier: Frontier, job: str, caller: str, terms: Terms, give: Callable[[list[Lease]], None]
    ) -> None:
        """`give` gets each lease once, with the number of its request as the fingerprint."""
        self._frontier = frontier
        self._job = inline_job(job, caller)
        self._caller = Caller(inline_caller(caller))
        self._terms = inline_terms(terms)
        self._give = give
        self._waiting: dict[int, InlineRequest] = {}
        self._held: set[int] = set()
        self._is_open = False
        self._taken = 0
        self._lease_call: Call | None = None

    @property
    def tokens(self) -> list[int]:
        """Of the leases that are held."""
        return list(self._held)

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    async def turn(self, asked: list[InlineRequest], done: list[int]) -> None:
        """Leases for the requests that were asked for, and ends the leases that are done. Empties both lists. Safe to
        repeat after Unavailable."""
        try:
            await self._end(done)
            await self._offer(asked)
            await self._lease()
        except FrontierLost:
            # Redis lost its data, or this process was silent for so long that others took it for dead.
            self._is_open, self._lease_call = False, None
            asked[:0] = self._waiting.values()
            self._waiting.clear()

    async def close(self) -> None:
        if self._is_open:
            with suppress(FrontierLost):
                await self._frontier.erase(self._job)

    async def _end(self, done: list[int]) -> None:
        if not done:
            return
        await self._frontier.complete(self._caller.next(), [Completion(token, Outcome.DONE) for token in done])
        self._held.difference_update(done)
        done.clear()

    async def _offer(self, asked: list[InlineRequest]) -> None:
        if not asked:
            return
        await self._open()
        offers = [Offer(self._job, [each.target]) for each in asked]
        offered = await self._frontier.offer(self._caller.next(), offers)
        left = {target.fingerprint for offer in offered.left for target in offer.targets}
        self._waiting |= {each.number: each for each in asked if each.number not in left}
        self._taken += len(asked) - len(left)
        asked[:] = [each for each in asked if each.number in left]

    async def _open(self) -> None:
        if self._is_open and self._taken > RENEWED_AFTER and not self._waiting and not self._held:
            await self.close()
            self._is_open, self._taken = False, 0
        if not self._is_open:
            await self._frontier.open_job(self._job, self._terms)
            self._is_open = True

    async def _lease(self) -> None:
        if not self._waiting:
            return
        # A call that got no answer is repeated: its leases are held already.
        self._lease_call = call = self._lease_call or self._caller.next()
        leases = await self._frontier.lease(call, len(self._waiting), job=self._job)
        self._lease_call = None
        wanted = [lease for lease in leases if self._waiting.pop(lease.target.fingerprint, None) is not None]
        self._held |= {lease.token for lease in leases}
        if wanted:
            self._give(wanted)
        # A lease that expired is returned to the queue, although its request was sent.
        await self._end([lease.token for lease in leases if lease not in wanted])
