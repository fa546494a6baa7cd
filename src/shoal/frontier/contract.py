"""What a frontier promises; every implementation passes tests/frontier.

A frontier is a scheduler: `lease` hands out a request only when its host may be fetched. Each call that changes
something carries a `Call`; a repeated one changes nothing and gets the first reply, so a client may retry blindly.
Time is the frontier's own clock, never a worker's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from shoal.model import Completion, Figures, Landing, Lane, Lease, Offer, Outcome, Target, Trail

ALL_LANES = tuple(Lane)
LEASE_S = 60.0
"""How long a lease lasts unless the frontier was told otherwise."""
HORIZON_S = 0.25
"""A lease may be given this long before its host's clock allows the start, so high rates need no call each."""
STRANGERS_ONE_IN = 4
"""While hosts are due that have answered a job, strangers, which never did (new ones, dead ones), get one lease in so
many, and more only of what the others leave: a page that links to 100,000 hosts keeps none from its rate."""


class Call(NamedTuple):
    caller: str
    seq: int


class Caller:
    """Numbers the calls of one worker."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seq = 0

    def next(self) -> Call:
        self._seq += 1
        return Call(self._name, self._seq)


class Terms(NamedTuple):
    """What the frontier must know of a job to schedule it."""

    lane: Lane = Lane.BATCH
    owner: str = ""
    """Whose job it is, where several share a fleet: owners are served in turn, and priorities order the jobs of one."""
    priority: int = 0
    gap_s: float = 0.5
    """Least time between two starts on one host; 0: no gap, and the host is never slowed."""
    per_host: int = 2
    robots: bool = True
    """Whether a host's crawl-delay is honoured."""
    pages: int | None = None
    pages_per_host: int | None = None
    bytes: int | None = None
    stop_at: float | None = None


class Offered(NamedTuple):
    new: int
    """How many the job had not seen; they are queued now."""
    left: Sequence[Offer] = ()
    """What was not taken because too much is queued: to be offered again later. It counts as not seen."""


class Ended(NamedTuple):
    """A request that ended before the frontier was lost, as the store tells it."""

    fingerprint: int
    host: str
    outcome: Outcome
    """Any but RETRY."""
    bytes: int = 0
    reason: str = ""
    """With DROP."""


class HostState(NamedTuple):
    """A host's clock, as an operator sees it."""

    name: str
    rate: float | None
    """The operator's override; None: each job's own."""
    paused: bool
    in_flight: int
    next_at: float
    """Before then no job asks for anything there; each job keeps its own gap besides."""
    block_until: float
    block_reason: str
    crawl_delay_s: float
    slowdown: float
    latency_s: float
    fails: int
    queued_jobs: int


class Frontier(Protocol):
    """Whoever names a job the frontier does not know gets FrontierLost."""

    @property
    def lease_s(self) -> float:
        """How long a lease lasts, counted from the start it allows."""

    async def open_job(self, job: str, terms: Terms, *, lost: bool = False) -> None:
        """Makes the job known and active, or gives a known one new terms and its next edition; its counts stay.

        One that was lost and is not known takes no offers until it is opened again, in the time between to be told by
        `recall` what has ended: a worker's links would be queued though they led there.
        """

    async def change(self, job: str, terms: Terms) -> None:
        """Gives a known job new terms and its next edition; if it is paused or cancelled, it stays so."""

    async def touch(self, job: str) -> None:
        """The job's next edition: whoever leases from now on loads what the store has of it anew.

        An edition is one more than the last; the first is the time in seconds, so that they rise over a wipe too.
        """

    async def offer(self, call: Call, offers: Sequence[Offer]) -> Offered:
        """Enqueues what the job has not seen, in one atomic step."""

    async def lease(
        self, call: Call, n: int, lanes: Sequence[Lane] = ALL_LANES, horizon_s: float = HORIZON_S
    ) -> list[Lease]:
        """Up to n requests over as many hosts as are ready; lanes best first, jobs in turn, and of a job the hosts that
        have waited longest, but of strangers no more than their share (STRANGERS_ONE_IN)."""

    async def landed(self, call: Call, landings: Sequence[Landing]) -> None:
        """Frees the hosts' slots and lets their clocks learn; the leases go on."""

    async def extend(self, call: Call, tokens: Sequence[int]) -> list[int]:
        """Prolongs leases to lease_s from now; gives the tokens that are still held."""

    async def release(self, call: Call, tokens: Sequence[int], wait_s: float = 0.0) -> None:
        """Gives unstarted leases back to the head of their queues; their job leaves the hosts alone for wait_s."""

    async def complete(self, call: Call, completions: Sequence[Completion]) -> list[bool]:
        """Ends leases; False where the token was no longer held, which changes nothing."""

    async def revive(self, call: Call, job: str, requests: Sequence[tuple[Target, Trail]]) -> int:
        """Queues dead letters again, those not pending already, and says how many; they count as found once."""

    async def recall(self, call: Call, job: str, endings: Sequence[Ended]) -> int:
        """Tells a frontier that was lost what had ended before: it is seen and counted, and not queued.

        What is seen already, be it queued or leased, changes nothing; says how many were not. Offering all seeds and
        links again afterwards queues the rest.
        """

    async def reap(self, blamed: Sequence[int] = (), gone: Sequence[str] = (), *, all_leases: bool = False) -> int:
        """Returns expired leases, those of callers who are gone (or all, when no worker can be alive) to their queues,
        permits kept.

        Only the blamed, whose page was being parsed when the process died, count a crash.
        """

    async def next_ready_in(self, lanes: Sequence[Lane] = ALL_LANES) -> float | None:
        """Seconds until a lease could succeed; None if only a landing, an offer or an operator changes that."""

    async def wait(self, timeout_s: float, lanes: Sequence[Lane] = ALL_LANES) -> None:
        """Returns when something of these lanes may be leased, or after timeout_s; may be cancelled at any point."""

    async def rest(self, job: str) -> str | None:
        """Why the job has nothing more to lease (`empty`, `pages`, `bytes`, `seconds`, `pages_per_host`,
        `paused`, `cancelled`), or None while it has or has leases out."""

    async def over(self, job: str) -> str | None:
        """Why the job will lease nothing more whatever it is offered (`seconds`, `bytes`, `cancelled`), or None."""

    async def limiting(self, job: str) -> str | None:
        """In words, what a running job waits for; None while it is served as fast as it can be."""

    async def pause(self, job: str) -> None: ...

    async def resume(self, job: str) -> None: ...

    async def cancel(self, job: str) -> None: ...

    async def focus(self, jobs: Sequence[str]) -> None:
        """Pauses every job but these."""

    async def forget(self, job: str) -> None:
        """Removes everything kept for the job but its figures."""

    async def erase(self, job: str) -> None:
        """Removes everything kept for the job: it is not known any more. Leases of it end by themselves."""

    async def figures(self, job: str) -> Figures: ...

    async def whereabouts(self, job: str, fingerprint: int, host: str) -> str | None:
        """`queued`, `waiting` (for a retry), `leased`, `seen` (offered once, now ended), or None."""

    async def met(self, job: str, host: str, crawl_delay_s: float) -> None:
        """The host has answered the job's question for robots.txt, and asks for a delay: a floor under every gap."""

    async def override(self, host: str, *, rate: float | None, paused: bool) -> None:
        """An operator's word on a host; takes effect on the next lease."""

    async def hosts(self, after: str = "", most: int | None = None) -> list[HostState]:
        """By name, from the first beyond `after` on: all, or so many."""

    async def host(self, name: str) -> HostState | None:
        """None if it has no clock: nothing was asked of it lately, nor has an operator a word on it."""
