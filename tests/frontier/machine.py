"""A frontier that works day by day, and the model of it in plain dictionaries; both have the same fake clock."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shoal.errors import UsageError
from shoal.frontier.adaptive_delay import Pace, gap_of, learn, slowdown_at
from shoal.frontier.contract import Caller, Frontier, Terms
from shoal.frontier.politeness_clock import StartClock
from shoal.model import ASSET, Completion, Landing, Lease, Offer, Outcome, Render, RequestOptions, Trail
from tests.frontier.conftest import Kind, SqliteKind, target

NEW = StartClock(0.0, 0.0)
HOSTS = ("a.test", "one.b.test", "two.b.test")
SITES = {"a.test": "a.test", "one.b.test": "b.test", "two.b.test": "b.test"}
JOBS = {
    "plain": Terms(gap_s=0.0, per_host=2),
    "gapped": Terms(gap_s=1.0, per_host=3),
    "limited": Terms(gap_s=0.0, per_host=4, pages=6),
    "illustrated": Terms(gap_s=0.0, per_host=4, pages=4, assets=3),
    "pictured": Terms(gap_s=0.1, per_host=3, pages_per_host=2, assets=4),
    "brisk": Terms(gap_s=0.1, per_host=4),
    "capped": Terms(gap_s=0.5, per_host=2, pages_per_host=2),
    "slowest": Terms(gap_s=10_000.0, per_host=10_000, priority=-(10**6), pages=10**15),
    "rendered": Terms(gap_s=0.1, per_host=2, browser=True),
    "quickest": Terms(gap_s=0.0001, per_host=1, priority=10**6, bytes=10**15),
}
ABSURD = st.sampled_from([math.inf, -math.inf, math.nan, 1e300, -1e-300, 5e-324, 1e16, -1.0])


@dataclass
class ModelHost:
    clock: StartClock = NEW
    in_flight: int = 0
    pace: Pace = field(default_factory=Pace)

    def gap_s(self, terms: Terms, now: float) -> float:
        return gap_of(terms.gap_s, slowdown_at(now, self.pace.slowdown, self.pace.learnt_at), 0.0)


@dataclass
class ModelJob:
    terms: Terms
    edition: int
    state: str = "active"
    queued: dict[str, float] = field(default_factory=dict)
    """url -> not before"""
    held: set[str] = field(default_factory=set)
    for_browsers: set[str] = field(default_factory=set)
    """URLs that need a browser, ended ones among them."""
    ended: dict[str, Outcome] = field(default_factory=dict)
    permits: int = 0
    asset_permits: int = 0
    taken: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    own_at: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """host -> the job's own next start there"""

    def note_kind(self, url: str) -> None:
        if not is_asset(url) and (self.terms.browser or url.endswith(".app")):
            self.for_browsers.add(url)

    def take_permit(self, url: str, host: str, n: int = 1) -> None:
        if is_asset(url):
            self.asset_permits += n
        else:
            self.permits += n
            self.taken[host] += n

    def may_start(self, url: str, host: str, now: float) -> bool:
        if self.state != "active" or self.queued[url] > now:
            return False
        if url in self.held:
            return True
        if is_asset(url):
            return self.terms.assets is None or self.asset_permits < self.terms.assets
        all_pages = self.terms.pages is None or self.permits < self.terms.pages
        here = self.terms.pages_per_host is None or self.taken[host] < self.terms.pages_per_host
        return all_pages and here


def is_asset(url: str) -> bool:
    return url.endswith(".png")


def trail_of(url: str, priority: int = 0) -> Trail:
    options = RequestOptions(render=Render.ALWAYS) if url.endswith(".app") else None
    return Trail(priority=priority, callback=ASSET if is_asset(url) else "", options=options)


class CalmMachine(RuleBasedStateMachine):
    """Checked on every step: counts balance, caps hold, clocks hold, limits hold, and what may start is given."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.kind = self.make_kind()
        self.clock = self.kind.clock
        self.loop = asyncio.new_event_loop()
        self.frontier: Frontier = self.run(self.kind.open())
        self.caller = Caller("w0")
        self.callers = 1
        self.jobs: dict[str, ModelJob] = {}
        self.hosts = {name: ModelHost() for name in HOSTS}
        self.sites = dict.fromkeys(SITES.values(), NEW)
        self.leases: dict[int, tuple[Lease, float, bool]] = {}
        """token -> lease, deadline, landed"""
        self.callers_of: dict[int, str] = {}
        """token -> who leased it"""
        self.answered: set[tuple[str, str]] = set()

    def make_kind(self) -> Kind:
        return SqliteKind(Path(self.folder.name) / "frontier.db")

    def run(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(call)

    def teardown(self) -> None:
        self.run(self.kind.close(self.frontier))
        self.loop.close()
        self.folder.cleanup()

    @initialize(names=st.lists(st.sampled_from(sorted(JOBS)), min_size=1, max_size=2, unique=True))
    def open_jobs(self, names: list[str]) -> None:
        """One or two jobs at a time, so that sixty steps bring them into every corner."""
        for name in names:
            self.run(self.frontier.open_job(name, JOBS[name]))
            self.jobs[name] = ModelJob(JOBS[name], int(self.clock.now))

    @rule(
        data=st.data(),
        host=st.sampled_from(HOSTS),
        start=st.integers(0, 20),
        n=st.integers(1, 8),
        priority=st.integers(-1, 1),
        ending=st.sampled_from(["", "", ".png", ".app"]),
        repeat=st.booleans(),
    )
    def offer(
        self, data: st.DataObject, host: str, start: int, n: int, priority: int, ending: str, repeat: bool
    ) -> None:
        job = data.draw(st.sampled_from(sorted(self.jobs)))
        urls = [f"http://{host}/{place}{ending}" for place in (*range(start, start + n), start)]
        known = self.known(job)
        fresh = [url for url in dict.fromkeys(urls) if url not in known]
        offers = [Offer(job, [target(url) for url in urls], trail_of(urls[0], priority))]
        call = self.caller.next()
        for _ in range(1 + repeat):
            assert self.run(self.frontier.offer(call, offers)).new == len(fresh)
        self.jobs[job].queued.update(dict.fromkeys(fresh, 0.0))
        for url in fresh:
            self.jobs[job].note_kind(url)

    def known(self, job: str) -> set[str]:
        model = self.jobs[job]
        held = {lease.target.url for lease, _, _ in self.leases.values() if lease.job == job}
        return held | set(model.queued) | set(model.ended)

    @rule(
        n=st.sampled_from([1, 3, 20]),
        horizon_s=st.sampled_from([0.0, 0.25]),
        browsers=st.sampled_from([0, 2, 20]),
        repeat=st.booleans(),
    )
    def lease(self, n: int, horizon_s: float, browsers: int, repeat: bool) -> None:
        startable = self.startable(browser=browsers > 0)
        call = self.caller.next()
        leases = self.run(self.frontier.lease(call, n, horizon_s=horizon_s, browsers=browsers))
        if repeat:
            assert self.run(self.frontier.lease(call, n, horizon_s=horizon_s, browsers=browsers)) == leases
        assert len(leases) <= n
        assert sum(lease.needs_browser for lease in leases) <= browsers
        assert leases or not startable, f"nothing leased, but {startable} could start"
        for lease in leases:
            self.take(lease, horizon_s)
            self.callers_of[lease.token] = call.caller

    def startable(self, browser: bool) -> list[str]:
        now = self.clock.now
        return [
            f"{job}: {url}"
            for job, model in self.jobs.items()
            for url in model.queued
            for host in [url.split("/")[2]]
            if model.may_start(url, host, now)
            and (browser or url not in model.for_browsers)
            and self.hosts[host].in_flight < model.terms.per_host
            and self.start_of(model, host) <= now
        ]

    def start_of(self, model: ModelJob, name: str) -> float:
        host = self.hosts[name]
        gap_s = host.gap_s(model.terms, self.clock.now)
        clocks = host.clock.follows(gap_s), self.sites[SITES[name]].follows(gap_s)
        return max(model.own_at[name], host.pace.block_until, *clocks)

    def take(self, lease: Lease, horizon_s: float) -> None:
        model, host = self.jobs[lease.job], self.hosts[lease.target.host]
        url, start_at = lease.target.url, self.clock.now + lease.wait_s
        assert model.may_start(url, lease.target.host, self.clock.now)
        assert lease.edition == model.edition
        assert lease.needs_browser == (url in model.for_browsers)
        assert host.in_flight < model.terms.per_host
        assert start_at >= self.start_of(model, lease.target.host) - 1e-6
        assert lease.wait_s <= horizon_s + 1e-6
        assert all(lease.token > token for token in self.leases if lease.token != token)
        if url not in model.held:
            model.take_permit(url, lease.target.host)
        model.held.discard(url)
        del model.queued[url]
        host.in_flight += 1
        gap_s = host.gap_s(model.terms, self.clock.now)
        site = SITES[lease.target.host]
        host.clock = host.clock.planned(start_at + gap_s, gap_s)
        self.sites[site] = self.sites[site].planned(start_at + gap_s, gap_s)
        model.own_at[lease.target.host] = start_at + gap_s
        self.leases[lease.token] = (lease, start_at + 60.0, False)

    def some_lease(self, data: st.DataObject) -> Lease:
        return self.leases[data.draw(st.sampled_from(sorted(self.leases)))][0]

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), kind=st.sampled_from(["quick", "quick", "quick", "slow", "delayed", "busy", "silent"]))
    def land(self, data: st.DataObject, kind: str) -> None:
        lease = self.some_lease(data)
        landing = {
            "quick": Landing(lease.token, 0.05, 200),
            "slow": Landing(lease.token, 2.0, 200),
            "delayed": Landing(lease.token, 2.0, 200, network_s=0.05),
            "busy": Landing(lease.token, 0.05, 429, retry_after_s=3.0),
            "silent": Landing(lease.token, 10.0, None, "timeout"),
        }[kind]
        if kind == "silent" and (lease.job, lease.target.host) not in self.answered:
            return  # a host that never answered is given up on: test_contract_clocks has that path
        self.run(self.frontier.landed(self.caller.next(), [landing]))
        if kind != "silent":
            self.answered.add((lease.job, lease.target.host))
        self.model_land(lease, landing)

    def model_land(self, lease: Lease, landing: Landing) -> None:
        held, deadline, landed = self.leases[lease.token]
        if landed:
            return
        host = self.hosts[lease.target.host]
        host.in_flight -= 1
        learn(host.pace, landing, self.clock.now)
        self.leases[lease.token] = (held, deadline, True)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), outcome=st.sampled_from(list(Outcome)), repeat=st.booleans(), browser=st.booleans())
    def complete(self, data: st.DataObject, outcome: Outcome, repeat: bool, browser: bool) -> None:
        self.end(self.some_lease(data), outcome, repeat, browser)

    @rule(outcome=st.sampled_from(list(Outcome)))
    def complete_all(self, outcome: Outcome) -> None:
        for lease in [lease for lease, _, _ in self.leases.values()]:
            self.end(lease, outcome, repeat=False)

    def end(self, lease: Lease, outcome: Outcome, repeat: bool, browser: bool = False) -> None:
        completion = Completion(lease.token, outcome, reason="robots", delay_s=2.0, needs_browser=browser)
        call = self.caller.next()
        for _ in range(1 + repeat):
            assert self.run(self.frontier.complete(call, [completion])) == [True]
        model = self.end_lease(lease)
        if outcome is Outcome.RETRY:
            model.queued[lease.target.url] = self.clock.now + 2.0
            self.note_found_out(model, lease.target.url, browser)
        else:
            model.ended[lease.target.url] = outcome
        if outcome is not Outcome.DONE:
            self.give_permit_back(lease)

    def note_found_out(self, model: ModelJob, url: str, browser: bool) -> None:
        if browser and not is_asset(url):
            model.for_browsers.add(url)

    @rule(data=st.data())
    def revive(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(sorted(self.jobs)))
        model = self.jobs[job]
        dead = [url for url, outcome in model.ended.items() if outcome is Outcome.DEAD]
        letters = [(target(url), trail_of(url)) for url in dead]
        for revived in (len(dead), 0):
            assert self.run(self.frontier.revive(self.caller.next(), job, letters)) == revived
        for url in dead:
            del model.ended[url]
            model.queued[url] = 0.0
            model.for_browsers.discard(url)
            model.note_kind(url)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), browser=st.booleans())
    def release(self, data: st.DataObject, browser: bool) -> None:
        lease = self.some_lease(data)
        self.run(self.frontier.release(self.caller.next(), [lease.token], needs_browser=browser))
        self.note_found_out(self.jobs[lease.job], lease.target.url, browser)
        self.return_start(lease, self.leases[lease.token][1] - 60.0)
        self.end_lease(lease).queued[lease.target.url] = 0.0
        self.give_permit_back(lease)

    def return_start(self, lease: Lease, start_at: float) -> None:
        """Left to another by every clock on which none was planned after it."""
        name, next_at = lease.target.host, start_at + lease.gap_s
        host, own_at = self.hosts[name], self.jobs[lease.job].own_at
        if self.is_last(host.clock, next_at, lease.gap_s):
            host.clock = StartClock(start_at, 0.0)
        if self.is_last(self.sites[SITES[name]], next_at, lease.gap_s):
            self.sites[SITES[name]] = StartClock(start_at, 0.0)
        if abs(own_at[name] - next_at) < 1e-4:
            own_at[name] = start_at

    def is_last(self, clock: StartClock, next_at: float, gap_s: float) -> bool:
        return abs(clock.next_at - next_at) < 1e-4 and (clock.gap_s == 0 or abs(clock.gap_s - gap_s) < 1e-4)

    @rule()
    def complete_a_token_nobody_holds(self) -> None:
        ends = [Completion(1, Outcome.DONE)]
        assert self.run(self.frontier.complete(self.caller.next(), ends)) == [False]

    def end_lease(self, lease: Lease) -> ModelJob:
        _, _, landed = self.leases.pop(lease.token)
        if not landed:
            self.hosts[lease.target.host].in_flight -= 1
        return self.jobs[lease.job]

    def give_permit_back(self, lease: Lease) -> None:
        self.jobs[lease.job].take_permit(lease.target.url, lease.target.host, -1)

    @rule(
        data=st.data(),
        host=st.sampled_from(HOSTS),
        number=ABSURD,
        verb=st.sampled_from(["open", "change", "met", "override", "land", "late", "retry", "release", "lease"]),
    )
    def absurd_numbers_change_nothing(self, data: st.DataObject, host: str, number: float, verb: str) -> None:
        job = data.draw(st.sampled_from(sorted(self.jobs)))
        token = data.draw(st.sampled_from([*sorted(self.leases), 1]))
        call, terms = self.caller.next(), self.jobs[job].terms
        calls: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
            "open": lambda: self.frontier.open_job(job, terms._replace(gap_s=number)),
            "change": lambda: self.frontier.change(job, terms._replace(gap_s=number)),
            "met": lambda: self.frontier.record_robots_answer(job, host, number),
            "override": lambda: self.frontier.override(host, rate=number, paused=False),
            "land": lambda: self.frontier.landed(call, [Landing(token, number, 200)]),
            "late": lambda: self.frontier.landed(call, [Landing(token, 0.1, 200, late_s=number)]),
            "retry": lambda: self.frontier.complete(call, [Completion(token, Outcome.RETRY, delay_s=number)]),
            "release": lambda: self.frontier.release(call, [token], number),
            "lease": lambda: self.frontier.lease(call, 5, horizon_s=number),
        }
        # Some that are absurd for a rate are merely short for a time.
        if verb != "override" and 0 <= number < 1e-300:
            return
        with pytest.raises(UsageError):
            self.run(calls[verb]())

    @rule(seconds=st.sampled_from([0.05, 0.3, 1.1, 5.0, 61.0]))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(data=st.data())
    def touch(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(sorted(self.jobs)))
        self.run(self.frontier.touch(job))
        self.jobs[job].edition += 1

    @rule(data=st.data(), verb=st.sampled_from(["pause", "resume"]))
    def pause_or_resume(self, data: st.DataObject, verb: str) -> None:
        job = data.draw(st.sampled_from(sorted(self.jobs)))
        self.run(getattr(self.frontier, verb)(job))
        self.jobs[job].state = {"pause": "paused", "resume": "active"}[verb]

    @invariant()
    def counts_balance(self) -> None:
        for name, model in self.jobs.items():
            figures = self.run(self.frontier.figures(name))
            leased = sum(lease.job == name for lease, _, _ in self.leases.values())
            ends = list(model.ended.values())
            assert figures.queued == len(model.queued)
            assert figures.leased == leased
            assert figures.for_browsers == len(model.for_browsers & set(model.queued))
            done = [url for url, outcome in model.ended.items() if outcome is Outcome.DONE]
            assert figures.assets == sum(map(is_asset, done))
            assert figures.pages == len(done) - figures.assets
            assert figures.redirects == ends.count(Outcome.REDIRECT)
            assert figures.dead == ends.count(Outcome.DEAD)
            assert sum(figures.dropped.values()) == ends.count(Outcome.DROP)
            assert figures.found == len(model.queued) + leased + len(ends)
            if model.terms.pages is not None:
                held = [lease.target.url for lease, _, _ in self.leases.values() if lease.job == name]
                assert figures.pages + sum(not is_asset(url) for url in held) <= model.terms.pages
            if model.terms.assets is not None:
                assert figures.assets <= model.asset_permits <= model.terms.assets

    @invariant()
    def an_idle_worker_is_told_when_to_come_back(self) -> None:
        for browser in (False, True):
            if self.startable(browser):
                assert self.run(self.frontier.next_ready_in(browser=browser)) == 0.0
