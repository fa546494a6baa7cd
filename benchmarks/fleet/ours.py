"""A fleet of the benchmark's own on this machine, steered by Shoal's commands as an operator steers it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.contenders import CONCURRENCY, SHOAL_PROGRAM
from benchmarks.fleet.session import Session, session
from benchmarks.frontier_redis import Server, redis_server
from benchmarks.measure import LIMIT_S, CannotMeasure, environment

POLL_S = 0.5
UNHINDERED = ("--allow-private", "--ignore-robots", "--no-archive", "--rate", "0")


class Fleet:
    def __init__(self, scratch: Path, redis: Server, environment: Mapping[str, str], ending: ExitStack) -> None:
        self.redis = redis
        self._scratch = scratch
        self._environment = environment
        self._ending = ending
        self._started = 0

    def worker(self, lanes: str = "express,batch", processes: int = 1, browsers: bool = False) -> Session:
        """Ready, until the fleet ends. `browsers`: each of its processes has one."""
        count = ["--browsers" if browsers else "--processes", str(processes)]
        return self._start(["worker", "--lanes", lanes, *count, "--concurrency", CONCURRENCY])

    def tend(self) -> Session:
        return self._start(["tend"])

    def submit(self, *words: str) -> str:
        """The job's id; as fast as the fleet can."""
        return str(self.told(*self.submission(*words))["id"])

    def submission(self, *words: str) -> list[str]:
        return ["submit", *words, *UNHINDERED]

    def listed(self, name: str, urls: Iterable[str]) -> str:
        """A list that can be submitted."""
        file = self._scratch / f"{name}.txt"
        with file.open("w") as lines:
            lines.writelines(f"{url}\n" for url in urls)
        return f"@{file}"

    def job(self, id: str) -> dict[str, Any]:
        return self.told("job", id)

    def wait(self, id: str, ended: str = "done") -> dict[str, Any]:
        """Its figures when it has ended, as it should."""
        self._run("watch", id)
        figures = self.job(id)
        if figures["state"] != ended:
            raise CannotMeasure(f"job {id} ended {figures['state']}: {figures}")
        return figures

    def wait_until_found(self, id: str, urls: int) -> None:
        """Until tend has put that many URLs of a job into the frontier."""
        deadline = time.monotonic() + LIMIT_S
        while (found := self.job(id)["found"]) < urls:
            if time.monotonic() > deadline:
                raise CannotMeasure(f"of {urls:,} URLs submitted, {found:,} are in the frontier")
            time.sleep(POLL_S)

    def cancel(self, id: str) -> None:
        self._run("cancel", id)

    def told(self, *words: str) -> dict[str, Any]:
        """The last object that a command prints."""
        told: dict[str, Any] = json.loads(self._run(*words).splitlines()[-1])
        return told

    def start(self, words: list[str]) -> Session:
        """A command of Shoal that goes on by itself."""
        self._started += 1
        output = self._scratch / f"{words[0]}-{self._started}.log"
        return self._ending.enter_context(session([*SHOAL_PROGRAM, *words], output, self._environment))

    def _start(self, words: list[str]) -> Session:
        started = self.start(words)
        started.settle()
        return started

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [*SHOAL_PROGRAM, *words, "--json", "--quiet"],
            cwd=self._scratch,
            env=environment(self._environment),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode != 0:
            raise CannotMeasure(f"shoal {' '.join(words)} ended with code {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout


@contextmanager
def fleet(scratch: Path, broker: Server | None = None, **settings: str) -> Iterator[Fleet]:
    """Redis with an append-only file, as operators run it, and SQLite in a home; neither worker nor tend yet."""
    with redis_server(scratch, append_only=True) as redis, ExitStack() as ending:
        given = {f"SHOAL_{name.upper()}": value for name, value in settings.items()}
        if broker:
            given["SHOAL_BROKER_URL"] = broker.url
        home = {"SHOAL_HOME": str(scratch / "home"), "SHOAL_REDIS_URL": redis.url, "SHOAL_ALLOW_PRIVATE": "on"}
        yield Fleet(scratch, redis, {**home, **given}, ending)


def lasted_s(figures: Mapping[str, Any]) -> float:
    """From the job's creation to its end."""
    return moment(figures["finished_at"]) - moment(figures["created_at"])


def moment(told: str) -> float:
    return datetime.fromisoformat(told).timestamp()
