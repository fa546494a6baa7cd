"""Every frontier runs the same suite: a kind says how to open one, and how to open it again after a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from shoal.frontier.contract import Caller, Frontier, Terms
from shoal.frontier.sqlite import SqliteFrontier
from shoal.model import Lease, Offer, Target, Trail
from shoal.urls import fingerprint


@dataclass
class FakeClock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Closable(Frontier, Protocol):
    def close(self) -> None: ...


@dataclass
class Bench:
    """A frontier under a fake clock, with the few moves every test makes."""

    open: Callable[[FakeClock], Closable]
    clock: FakeClock = field(default_factory=FakeClock)
    caller: Caller = field(default_factory=lambda: Caller("worker"))

    def __post_init__(self) -> None:
        self.frontier = self.open(self.clock)

    def restart(self) -> None:
        self.frontier.close()
        self.frontier = self.open(self.clock)
        self.caller = Caller("worker after restart")

    async def job(self, name: str = "job", **terms: object) -> None:
        await self.frontier.open_job(name, Terms(**terms))  # type: ignore[arg-type]

    async def offer(self, *urls: str, job: str = "job", trail: Trail | None = None) -> int:
        offers = [Offer(job, [target(url) for url in urls], trail or Trail())]
        return await self.frontier.offer(self.caller.next(), offers)

    async def lease(self, n: int = 10, **options: object) -> list[Lease]:
        return await self.frontier.lease(self.caller.next(), n, **options)  # type: ignore[arg-type]


def target(url: str) -> Target:
    return Target(url, fingerprint(url), url.split("/")[2])


def urls(host: str, n: int, start: int = 0) -> list[str]:
    return [f"http://{host}/{place}" for place in range(start, start + n)]


@pytest.fixture(params=["sqlite"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(lambda clock: SqliteFrontier(tmp_path / "frontier.db", clock))
    yield bench
    bench.frontier.close()
