"""The contract of a frontier. Every implementation passes tests/frontier.

A frontier is a scheduler: `lease` returns a request only when its host may be fetched. Each call that changes
something carries a `Call`. A repeated call changes nothing and gets the first reply, so a client may always retry.
All times come from the frontier's own clock, never from a worker's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from shoal.model import Completion, Figures, Landing, Lane, Lease, Offer, Outcome, Target, Trail

ALL_LANES = tuple(Lane)
LEASE_S = 60.0
"""How long a lease lasts by default."""
HORIZON_S = 0.25
"""A lease may be returned this long before its host's clock allows the start, so that high rates need fewer calls."""
UNPROVEN_ONE_IN = 4
"""Unproven hosts never answered the job: they are new or dead. While other hosts are due, unproven ones get one lease
in this many, plus the leases that the others do not use. So a page that links to 100,000 hosts slows no other host."""


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


class HostTerms(NamedTuple):
    """What a job keeps to at one host, in the place of what it keeps to at all others."""

    host: str
    """A hostname, which stands for all its ports."""
    gap_s: float
    per_host: int


class Terms(NamedTuple):
    """What the frontier needs to know to schedule a job."""

    lane: Lane = Lane.BATCH
    owner: str = ""
    """Who owns the job in a shared fleet. Owners take turns; priorities order the jobs of one owner."""
    priority: int = 0
    gap_s: float = 0.5
    """Minimum time between two request starts on one host; 0: no gap, and the host is never slowed down."""
    per_host: int = 2
    hosts: tuple[HostTerms, ...] = ()
    """Hosts with a gap and a number in flight of their own."""
    robots: bool = True
    """Whether to honour a host's crawl-delay."""
    pages: int | None = None
    pages_per_host: int | None = None
    bytes: int | None = None
    stop_at: float | None = None
    cost: int | None = None
    """The most that its requests may cost, in millionths of the currency of its proxies."""
    spent: int = 0
    """What its requests have cost so far, at least, likewise."""
    assets: int | None = None
    """The most assets. `pages` and `pages_per_host` do not count them."""
    own_workers: bool = False
    """Only lease calls that name the job get its requests: other programs work on it, not the fleet's workers."""
    browser: bool = False
    """Its requests need a browser, except for those that say that they do not (`Trail.needs_browser`)."""


class Offered(NamedTuple):
    new: int
    """How many requests the job had not seen. They are queued now."""
    left: Sequence[Offer] = ()
    """Offers that the frontier did not take because too much is queued. Offer them again later; they count as not
    seen."""


class Ended(NamedTuple):
    """A request that ended before the frontier was lost, read from the store."""

    fingerprint: int
    host: str
    outcome: Outcome
    """Any but RETRY."""
    bytes: int = 0
    reason: str = ""
    """With DROP."""
    is_asset: bool = False


class HostState(NamedTuple):
    """A host's clock, as an operator sees it."""

    name: str
    rate: float | None
    """The operator's override; None: each job uses its own rate."""
    paused: bool
    in_flight: int
    next_at: float
    """No job sends a request to the host before this time. Each job also keeps its own gap."""
    block_until: float
    block_reason: str
    crawl_delay_s: float
    slowdown: float
    latency_s: float
    fails: int
    queued_jobs: int


class Frontier(Protocol):
    """A method that takes a job raises FrontierLost if the frontier does not know the job."""

    @property
    def lease_s(self) -> float:
        """How long a lease lasts, counted from the start it allows."""

    async def open_job(self, job: str, terms: Terms, *, lost: bool = False) -> None:
        """Adds the job and activates it. A known job gets the new terms and its next edition, and keeps its counts.

        With `lost`, an unknown job takes no offers until it is opened a second time. In between, `recall` lists the
        requests that have ended. Otherwise a worker's links would queue requests that have ended already.
        """

    async def change(self, job: str, terms: Terms) -> None:
        """Gives a known job new terms and its next edition. A paused or cancelled job stays so."""

    async def touch(self, job: str) -> None:
        """Starts the job's next edition: workers that lease from now on load the job from the store again.

        Each edition is one more than the last. The first is the time in seconds, so that editions also increase after
        the frontier was wiped.
        """

    async def offer(self, call: Call, offers: Sequence[Offer]) -> Offered:
        """Queues the requests that the job has not seen, in one atomic step."""

    async def lease(
        self,
        call: Call,
        n: int,
        lanes: Sequence[Lane] = ALL_LANES,
        horizon_s: float = HORIZON_S,
        job: str | None = None,
        browsers: int = 0,
    ) -> list[Lease]:
        """Returns up to n requests, spread over as many ready hosts as possible.

        The best lane comes first, and its jobs take turns. Within a job, hosts that have waited longest come first.
        Unproven hosts get no more than their share (UNPROVEN_ONE_IN). With `job`, all are of this job. At most
        `browsers` of them need a browser. At a host where both wait, requests that need a browser and plain ones take
        turns.
        """

    async def landed(self, call: Call, landings: Sequence[Landing]) -> None:
        """Frees the hosts' slots and updates their clocks. The leases stay held."""

    async def extend(self, call: Call, tokens: Sequence[int]) -> list[int]:
        """Extends leases to lease_s from now, and returns the tokens that are still held."""

    async def release(
        self, call: Call, tokens: Sequence[int], wait_s: float = 0.0, needs_browser: bool = False
    ) -> None:
        """Returns unstarted leases to the head of their queues. Their job sends the hosts nothing for wait_s. With
        `needs_browser`, only callers with a browser get them from now on."""

    async def complete(self, call: Call, completions: Sequence[Completion]) -> list[bool]:
        """Ends leases. False means that the token was no longer held, and nothing changed."""

    async def revive(self, call: Call, job: str, requests: Sequence[tuple[Target, Trail]]) -> int:
        """Queues dead letters again and returns how many. It skips those already pending; each counts as found once."""

    async def recall(self, call: Call, job: str, ended: Sequence[Ended]) -> int:
        """Tells a frontier that was lost which requests had ended before. It counts them as seen and does not queue
        them.

        Requests that are already seen, also queued or leased ones, change nothing. Returns how many were not seen.
        Afterwards, offering all seeds and links again queues the others.
        """

    async def reap(self, blamed: Sequence[int] = (), gone: Sequence[str] = (), *, all_leases: bool = False) -> int:
        """Returns leases to their queues, with their permits: those that expired and those of callers that are gone.
        `all_leases` returns all of them, for when no worker can be alive.

        Only `blamed` leases count a crash: their page was being parsed when the process died. A token that is given
        several times counts as many crashes.
        """

    async def next_ready_in(
        self, lanes: Sequence[Lane] = ALL_LANES, job: str | None = None, *, browser: bool = False
    ) -> float | None:
        """Seconds until such a lease could succeed; None if only a landing, an offer or an operator changes that."""

    async def wait(self, timeout_s: float, lanes: Sequence[Lane] = ALL_LANES, *, browser: bool = False) -> None:
        """Returns when a request of these lanes may be leased, or after timeout_s. Safe to cancel at any point."""

    async def idle_reason(self, job: str) -> str | None:
        """Why the job has nothing to lease (`empty`, `pages`, `assets`, `bytes`, `cost`, `seconds`, `pages_per_host`,
        `paused`, `cancelled`). None while it has something to lease, or leases are held."""

    async def end_reason(self, job: str) -> str | None:
        """Why the job will lease nothing more, whatever it is offered (`seconds`, `bytes`, `cost`, `cancelled`), or
        None."""

    async def wait_reason(self, job: str) -> str | None:
        """What a running job waits for, as text for a person. None while nothing slows it down."""

    async def ready_hosts(self, job: str) -> int:
        """How many hosts the job has queued requests for, without those that have reached their page limit."""

    async def pause(self, job: str) -> None: ...

    async def resume(self, job: str) -> None: ...

    async def cancel(self, job: str) -> None: ...

    async def forget(self, job: str) -> None:
        """Removes everything kept for the job except its counts."""

    async def erase(self, job: str) -> None:
        """Removes everything kept for the job: the frontier no longer knows it. Its leases expire by themselves."""

    async def figures(self, job: str) -> Figures: ...

    async def request_state(self, job: str, fingerprint: int, host: str) -> str | None:
        """`queued`, `waiting` (for a retry), `leased`, `seen` (offered before, now ended), or None."""

    def queued(self, job: str, most: int) -> AsyncIterator[tuple[Target, Trail]]:
        """About `most` of the job's queued requests, hosts in no order. Of a long queue it returns only the head."""

    async def record_robots_answer(self, job: str, host: str, crawl_delay_s: float) -> None:
        """Records that the host answered the job's request for robots.txt. Its crawl-delay is the minimum gap."""

    async def override(self, host: str, *, rate: float | None, paused: bool) -> None:
        """Sets an operator's rate and pause for a host, from the next lease on."""

    async def hosts(self, after: str = "", most: int | None = None) -> list[HostState]:
        """Up to `most` hosts, sorted by name, starting after the name `after`."""

    async def host(self, name: str) -> HostState | None:
        """None if the host has no clock: it was not fetched lately, and no operator has set anything for it."""


@runtime_checkable
class SettlingFrontier(Frontier, Protocol):
    """A frontier that always has room for offers. Where it may have none, they are stored before their lease ends."""

    async def settle(
        self, call: Call, offers: Sequence[Offer], landings: Sequence[Landing], completions: Sequence[Completion]
    ) -> list[bool]:
        """The same as `offer`, `landed` and `complete`, in this order and in one atomic step."""
