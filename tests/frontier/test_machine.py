"""Random lives of a frontier against a model that keeps everything in plain dictionaries, under a fake clock."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from shoal.frontier.contract import Caller, Ended
from shoal.model import Lease, Offer, Outcome
from tests.frontier.conftest import Kind, RedisKind, target
from tests.frontier.machine import HOSTS, NEW, SITES, CalmMachine, ModelHost, ModelJob, is_asset, trail_of
from tests.frontier.redis_server import RedisServer


class FrontierMachine(CalmMachine):
    """With all that can befall it: leases expire, workers die, processes restart, everything is lost."""

    @rule()
    def reap(self) -> None:
        lost = [lease for lease, deadline, _ in self.leases.values() if deadline <= self.clock.now]
        assert self.run(self.frontier.reap()) == len(lost)
        self.model_expire(lost)

    @rule()
    def restart(self) -> None:
        self.run(self.kind.close(self.frontier))
        self.frontier = self.run(self.kind.open())
        self.another_caller()
        assert self.run(self.frontier.reap(all_leases=True)) == len(self.leases)
        self.model_expire([lease for lease, _, _ in self.leases.values()])

    @rule()
    def another_caller(self) -> None:
        """The one before holds on to what it leased."""
        self.caller = Caller(f"w{self.callers}")
        self.callers += 1

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def a_caller_is_gone(self, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(sorted({self.callers_of[token] for token in self.leases})))
        lost = [
            lease
            for token, (lease, deadline, _) in self.leases.items()
            if self.callers_of[token] == gone or deadline <= self.clock.now
        ]
        assert self.run(self.frontier.reap(gone=[gone])) == len(lost)
        self.model_expire(lost)

    @rule()
    def lose_everything_and_rebuild(self) -> None:
        self.run(self.kind.close(self.frontier))
        self.kind.wipe()
        self.frontier = self.run(self.kind.open())
        for name, model in self.jobs.items():
            pending = [*model.queued, *(lease.target.url for lease, _, _ in self.leases.values() if lease.job == name)]
            self.jobs[name] = rebuilt = ModelJob(model.terms, int(self.clock.now), ended=model.ended)
            self.run(self.frontier.open_job(name, model.terms))
            for known in (0, len(model.ended)):
                assert self.recall(name) == len(model.ended) - known
            found = [target(url) for url in (*pending, *model.ended)]
            offers = [Offer(name, [each], trail_of(each.url)) for each in found]
            assert self.run(self.frontier.offer(self.caller.next(), offers)).new == len(pending)
            rebuilt.queued = dict.fromkeys(pending, 0.0)
            for url in pending:
                rebuilt.note_kind(url)
        self.leases.clear()
        self.hosts = {name: ModelHost() for name in HOSTS}
        self.sites = dict.fromkeys(SITES.values(), NEW)

    def recall(self, job: str) -> int:
        """Tells the frontier, and the model, how requests of the job had ended; what is pending has not."""
        model = self.jobs[job]
        endings = [(target(url), outcome) for url, outcome in model.ended.items()]
        told = [
            Ended(found.fingerprint, found.host, outcome, 0, "robots", is_asset(found.url))
            for found, outcome in endings
        ]
        done = [found for found, outcome in endings if outcome is Outcome.DONE]
        answered = [found.host for found, outcome in endings if outcome in (Outcome.DONE, Outcome.REDIRECT)]
        model.permits, model.asset_permits, model.taken = 0, 0, defaultdict(int)
        for found in done:
            model.take_permit(found.url, found.host)
        self.answered = {pair for pair in self.answered if pair[0] != job} | {(job, host) for host in answered}
        new: int = self.run(self.frontier.recall(self.caller.next(), job, told))
        return new

    def model_expire(self, lost: list[Lease]) -> None:
        for lease in lost:
            model = self.end_lease(lease)
            model.queued[lease.target.url] = 0.0
            model.held.add(lease.target.url)


class RedisMachine(FrontierMachine):
    server: RedisServer

    def make_kind(self) -> Kind:
        return RedisKind(self.server)


def lives(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=60,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def test_the_sqlite_frontier_lives_as_the_model_does() -> None:
    run_state_machine_as_test(FrontierMachine, settings=lives(100))


def test_the_redis_frontier_lives_as_the_model_does(redis_server: RedisServer) -> None:
    RedisMachine.server = redis_server
    run_state_machine_as_test(RedisMachine, settings=lives(100))
