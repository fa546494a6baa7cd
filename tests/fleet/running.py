"""A fleet of real processes, as an operator starts them: a private Redis, tend and workers, on this machine.

    with Running(tmp_path, workers=1, processes=2) as fleet:
        job = fleet.submit(site.url(), "--rate", "50")
        fleet.workers[0].kill()
        fleet.start_worker()
        fleet.until_ended(job)

Leases and slices are short, so that what a test waits for comes soon. When the block is left, whatever still runs is
killed. Processes are forks that have their libraries already: most of what the start of a fleet takes is imports. A
worker with options is started by the command itself.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from shoal.cli.commands.worker import celery_words
from shoal.fleet.fleet import Fleet
from shoal.fleet.heartbeat_files import LastHeartbeat, last_heartbeats
from shoal.fleet.roster import RosterEntry, entries
from shoal.jobs.deployment import JobStatus
from shoal.model import ENDED, Lane
from shoal.store.jobs import load_job
from tests.fleet.by_hand import FleetShell
from tests.fork_server import ForkedProcess, ForkServer
from tests.frontier.redis_server import RedisServer

T = TypeVar("T")
START_S = 120.0
WITHIN_S = 120.0
"""Far more than it takes: a busy machine is no reason to fail."""
LOOK_EVERY_S = 0.2
QUICK = {"SHOAL_LEASE_S": "6", "SHOAL_SLICE_S": "3", "SHOAL_ALLOW_PRIVATE": "on"}
LIBRARIES = (
    *("celery.bin.celery", "celery.apps.worker", "celery.concurrency.prefork", "kombu.transport.redis", "uvloop"),
    *("shoal.cli.commands.tend", "shoal.fleet.tend", "shoal.fleet.celery_transport", "shoal.fleet.celery_logging"),
    *("shoal.fleet.scrapy_runner", "shoal.fleet.load_worker_jobs", "shoal.fleet.proxy_limits", "shoal.engine.engine"),
)
"""Of `shoal.fleet`, a worker must import two modules itself: `celery` reads the environment, and a worker and its
children, but no other worker, share the memory of `shared_stop_flag`."""


@cache
def fork_server() -> ForkServer:
    return ForkServer(*LIBRARIES)


@dataclass
class Role:
    """A worker or a tend: its process, and what it logged."""

    process: ForkedProcess
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """With all its processes, at once: as if the machine had gone."""
        self._signal_all(signal.SIGKILL)
        self.process.wait()

    def kill_main(self) -> None:
        """Its children live on, as far as they do."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        self.process.terminate()

    @contextmanager
    def main_standing_still(self) -> Iterator[None]:
        """It takes no slices; its children live on."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def ended(self, within_s: float = WITHIN_S) -> int:
        """Its exit code."""
        return self.process.wait(within_s)

    def stand_still(self) -> None:
        self._signal_all(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, what: signal.Signals) -> None:
        try:
            os.killpg(self.pid, what)
        except ProcessLookupError:
            pass


class Running(FleetShell):
    def __init__(
        self,
        folder: Path,
        workers: int = 1,
        processes: int = 2,
        tends: int = 1,
        database_url: str | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        (folder / "redis").mkdir()
        super().__init__(folder, RedisServer(folder / "redis"), database_url)
        self.processes = processes
        self.env = QUICK | (env or {})
        """What differs from the default settings, for every process; it may be changed between two starts."""
        self.workers: list[Role] = []
        self.tends: list[Role] = []
        self._begin = tends, workers

    def __enter__(self) -> Running:
        tends, workers = self._begin
        try:
            for _ in range(tends):
                self.start_tend()
            for _ in range(workers):
                self.start_worker()
            self.until_manned(children=workers * self.processes, tends=tends)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for role in (*self.workers, *self.tends):
            role.go_on()
            role.kill()
        self.redis.client.close()
        self.redis.kill()

    def start_worker(self, *options: str, **env: str) -> Role:
        """`env` for this one only: `SHOAL_REDIS_URL` may lead it through a proxy."""
        name = f"worker-{len(self.workers)}"
        if options:
            return self._started(
                self.workers, name, env, "shoal", "worker", "--processes", str(self.processes), *options
            )
        words = celery_words(list(Lane), self.processes, name, verbose=False)
        return self._started(self.workers, name, env, "celery", *words)

    def start_celery_worker(self, *options: str, app: str = "shoal.fleet") -> Role:
        return self._started(self.workers, f"worker-{len(self.workers)}", {}, "celery", "-A", app, "worker", *options)

    def start_tend(self, **env: str) -> Role:
        return self._started(self.tends, f"tend-{len(self.tends)}", env, "shoal", "tend")

    def _started(self, among: list[Role], name: str, env: dict[str, str], *command: str) -> Role:
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            process = fork_server().start(*command, cwd=self.folder, env=self.environment | env, output=output)
        among.append(Role(process, log))
        return among[-1]

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | self.env

    @property
    def broker_url(self) -> str:
        return f"redis://127.0.0.1:{self.redis.port}/1"

    def signs(self, role: str) -> list[LastHeartbeat]:
        """The living processes of a role on this machine."""
        return [sign for sign in last_heartbeats(self.home) if sign.role == role and not sign.is_dead]

    def children(self, worker: Role | None = None) -> list[int]:
        """The processes that crawl, of one worker or of all."""
        found = self.signs("child")
        return [sign.pid for sign in found if worker is None or sign.parent == worker.pid]

    def roster(self) -> list[RosterEntry]:
        return self.by_hand(lambda fleet: entries(fleet.frontier.connection))

    def standing(self, job: str) -> JobStatus:
        async def look(fleet: Fleet) -> JobStatus:
            return await fleet.job_status(load_job(fleet.store, job))

        return self.by_hand(look)

    def until_manned(self, children: int, tends: int = 1) -> None:
        """Until so many have written themselves down."""

        def manned() -> bool:
            roles = [entry.role for entry in self.roster()]
            return roles.count("child") >= children and roles.count("tend") >= tends

        self.until(manned, START_S)

    def until_pages(self, job: str, pages: int, within_s: float = WITHIN_S) -> None:
        self.until(lambda: self.standing(job).figures.pages >= pages, within_s)

    def until_ended(self, job: str, within_s: float = WITHIN_S) -> dict[str, Any]:
        """The job's figures, as `shoal job` tells them."""
        self.until(lambda: self.standing(job).state in ENDED, within_s)
        return self.figures(job)

    def until(self, look: Callable[[], T], within_s: float = WITHIN_S) -> T:
        """The first thing seen that is true; else fails with what every process logged last."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if seen := look():
                return seen
            time.sleep(LOOK_EVERY_S)
        raise AssertionError(f"not within {within_s} s\n{self.said}")

    @property
    def said(self) -> str:
        return "\n".join(f"== {role.log.stem}\n{role.said[-2000:]}" for role in (*self.tends, *self.workers))
