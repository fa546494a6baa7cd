"""Every frontier runs the same suite: a kind says how to open one, and how to open it again after a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from shoal.frontier.contract import Caller, Frontier, Terms
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.redis.shard import TAG
from shoal.frontier.sqlite import SqliteFrontier
from shoal.model import Completion, Landing, Lease, Offer, Outcome, Target, Trail
from shoal.urls import fingerprint
from tests.frontier.redis_server import RedisServer


class FakeClock:
    def __init__(self, tell: Callable[[float], object] = lambda now: None) -> None:
        """`tell` hears every new time, where the frontier's clock is not in this process."""
        self.now = 1_000_000.0
        self._tell = tell
        tell(self.now)

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self._tell(self.now)


class Kind(Protocol):
    clock: FakeClock

    async def open(self) -> Frontier: ...

    async def close(self, frontier: Any) -> None: ...

    def wipe(self) -> None:
        """Everything is lost but the time; to be opened anew."""


@dataclass
class SqliteKind:
    path: Path
    clock: FakeClock = field(default_factory=FakeClock)

    async def open(self) -> SqliteFrontier:
        return SqliteFrontier(self.path, self.clock)

    async def close(self, frontier: SqliteFrontier) -> None:
        frontier.close()

    def wipe(self) -> None:
        self.path.unlink()


class RedisKind:
    def __init__(self, server: RedisServer) -> None:
        self._server = server
        server.client.flushall()
        self.clock = FakeClock(self._tell)

    def _tell(self, now: float) -> None:
        self._server.client.set(f"{TAG}:clock", repr(now))

    async def open(self) -> RedisFrontier:
        return await RedisFrontier.open(self._server.url)

    async def close(self, frontier: RedisFrontier) -> None:
        await frontier.close()

    def wipe(self) -> None:
        self._server.client.flushall()
        self._tell(self.clock.now)


class Bench:
    """A frontier under a fake clock, with the few moves every test makes."""

    frontier: Frontier

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.clock = kind.clock
        self.caller = Caller("worker")

    async def open(self) -> None:
        self.frontier = await self._kind.open()

    async def close(self) -> None:
        await self._kind.close(self.frontier)

    async def restart(self) -> None:
        await self.close()
        await self.open()
        self.caller = Caller("worker after restart")

    async def lose(self) -> None:
        """The frontier is lost; whoever called it goes on."""
        await self.close()
        self._kind.wipe()
        await self.open()

    async def job(self, name: str = "job", **terms: object) -> None:
        await self.frontier.open_job(name, Terms(**terms))  # type: ignore[arg-type]

    async def offer(self, *urls: str, job: str = "job", trail: Trail | None = None) -> int:
        offers = [Offer(job, [target(url) for url in urls], trail or Trail())]
        return (await self.frontier.offer(self.caller.next(), offers)).new

    async def lease(self, n: int = 10, **options: object) -> list[Lease]:
        return await self.frontier.lease(self.caller.next(), n, **options)  # type: ignore[arg-type]

    async def land(self, leases: list[Lease], status: int | None = 200, **more: object) -> None:
        landings = [Landing(lease.token, 0.05, status, **more) for lease in leases]  # type: ignore[arg-type]
        await self.frontier.landed(self.caller.next(), landings)

    async def complete(self, leases: list[Lease], outcome: Outcome = Outcome.DONE, **more: object) -> list[bool]:
        ends = [Completion(lease.token, outcome, **more) for lease in leases]  # type: ignore[arg-type]
        return await self.frontier.complete(self.caller.next(), ends)

    async def fetch(self, leases: list[Lease]) -> None:
        await self.land(leases)
        await self.complete(leases)

    async def assert_balanced(self, job: str = "job") -> None:
        figures = await self.frontier.figures(job)
        assert figures.found == figures.queued + figures.leased + figures.ended


def target(url: str) -> Target:
    return Target(url, fingerprint(url), url.split("/")[2])


def names(leases: list[Lease]) -> list[str]:
    return [lease.target.url for lease in leases]


def urls(host: str, n: int, start: int = 0) -> list[str]:
    return [f"http://{host}/{place}" for place in range(start, start + n)]


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """To be killed, filled or configured."""
    with RedisServer(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("cluster"), "--cluster-enabled", "yes") as server:
        server.take_all_slots()
        yield server


@pytest.fixture(params=["sqlite", "redis_server", "redis_cluster"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    if request.param == "sqlite":
        return SqliteKind(tmp_path / "frontier.db")
    return RedisKind(request.getfixturevalue(request.param))


@pytest.fixture
async def bench(kind: Kind) -> AsyncIterator[Bench]:
    bench = Bench(kind)
    await bench.open()
    yield bench
    await bench.close()
