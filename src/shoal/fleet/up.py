"""A whole fleet on this machine: a Redis of its own unless one is named, tend, a worker and the API, kept running
together.

While it runs, commands of the same home find the fleet by the file that it holds there.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from shoal.errors import Unavailable
from shoal.file_lock import taken
from shoal.fleet.configuration import configuration
from shoal.fleet.glance import Glance, Glances
from shoal.fleet.life import signs
from shoal.fleet.listening import check_port
from shoal.fleet.own_redis import own_redis
from shoal.fleet.place import Fleet
from shoal.fleet.supervision import Part, kill_group, left_behind
from shoal.jobs.place import make_folder
from shoal.settings import UP_FILE, Settings, next_database

LOOK_EVERY_S = 0.25
LOOK_AROUND_EVERY_S = 2.0
API_HOST = "127.0.0.1"
REDIS_WITHIN_S = 20.0
END_WITHIN_S = {"api": 25.0, "worker": 40.0, "tend": 10.0, "redis": 20.0}
"""In the order in which they end: workers while there is still somebody to give their requests back to."""


@dataclass(frozen=True, slots=True)
class Wanted:
    workers: int
    """Processes that crawl; 0: none, and no worker."""
    lanes: Sequence[str]
    concurrency: int | None
    port: int
    """Of the API, on loopback."""
    verbose: bool


class Up:
    def __init__(self, settings: Settings, wanted: Wanted, say: Callable[[str], None]) -> None:
        """Raises Unavailable if another holds the home, or no Redis is to be had; UsageError if the port is taken."""
        if settings.redis_url is not None:
            # Else each role would find the fault, and be started again and again.
            configuration(settings)
        make_folder(settings.home)
        self._say = say
        self._held = _hold(settings.home)
        if left_behind(settings.home, "api") is None:
            # Otherwise that one has the port, as a rule, and is ended before another begins.
            check_port(API_HOST, wanted.port)
        self._redis_at = time.monotonic()
        self._redis: Part | None = None
        if settings.redis_url is None:
            settings = self._with_own_redis(settings)
        self.settings = settings
        self.api_url = f"http://{API_HOST}:{wanted.port}"
        self.began_at = time.monotonic()
        self.started = asyncio.Event()
        self.seen = Glance()
        self.fleet = Fleet(settings)
        self._glances = Glances(self.fleet)
        roles = self._tend(wanted), self._worker(wanted), self._api(wanted)
        self.parts = [part for part in (self._redis, *roles) if part]

    async def run(self, stopping: asyncio.Event) -> None:
        """Until told to stop; what it started runs on until `end`."""
        await self._end_leftovers()
        for part in self.parts:
            part.start()
            if part is self._redis:
                await self._until_redis_answers()
        self._tell_commands()
        self.seen = await self._glances.take()
        self.started.set()
        looking = asyncio.create_task(self._look_around())
        try:
            while not stopping.is_set():
                for part in self.parts:
                    if news := part.look(self.settings.silent_s):
                        self._say(news)
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def end(self, at_once: asyncio.Event) -> None:
        """Workers give back what they cannot end; the Redis of ours writes down what it has, even at once."""
        for part in reversed(self.parts):
            if at_once.is_set() and part is not self._redis:
                part.kill()
            part.terminate()
            deadline = time.monotonic() + part.end_within_s
            while part.pid is not None:
                if time.monotonic() > deadline or (at_once.is_set() and part is not self._redis):
                    self._say(f"{part.name}, process {part.pid}, is killed")
                    part.kill()
                await asyncio.sleep(0.05)
        await self.fleet.close()
        # Without its lock the file says nothing; removed, it could be taken and lost by another that starts just now.
        self._held.close()

    async def _end_leftovers(self) -> None:
        for name, within_s in END_WITHIN_S.items():
            pid = left_behind(self.settings.home, name)
            if pid is None:
                continue
            self._say(f"{name}, process {pid}, was left by an earlier shoal up: it is ended")
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + within_s
            while left_behind(self.settings.home, name):
                if time.monotonic() > deadline:
                    kill_group(pid)
                await asyncio.sleep(0.05)

    async def _until_redis_answers(self) -> None:
        deadline = time.monotonic() + REDIS_WITHIN_S
        while True:
            try:
                return await self.fleet.frontier.connection.check()
            except Unavailable:
                assert self._redis is not None
                if time.monotonic() > deadline or self._redis.pid is None:
                    raise

    async def _look_around(self) -> None:
        while True:
            self.seen = await self._glances.take()
            if self.seen.redis_answers:
                self._redis_at = time.monotonic()
            await asyncio.sleep(LOOK_AROUND_EVERY_S)

    def _tell_commands(self) -> None:
        """Whoever runs a command in this home need not be told by hand what this fleet stands on."""
        names = ("redis_url", "broker_url", "database_url", "archive_url")
        told = {name: value for name in names if (value := getattr(self.settings, name)) is not None}
        parts = [part.name for part in self.parts]
        self._held.write(json.dumps({"pid": os.getpid(), "settings": told, "parts": parts}))
        self._held.flush()

    def _with_own_redis(self, settings: Settings) -> Settings:
        redis = own_redis(settings.home)
        self._redis = Part(
            "redis",
            [redis.program, "-"],
            os.environ,
            settings.home,
            lambda pid: self._redis_at,
            END_WITHIN_S["redis"],
            redis.configuration,
        )
        broker_url = settings.broker_url or next_database(redis.url)
        return replace(settings, redis_url=redis.url, broker_url=broker_url)

    def _tend(self, wanted: Wanted) -> Part:
        return self._role("tend", [], wanted)

    def _worker(self, wanted: Wanted) -> Part | None:
        if not wanted.workers:
            return None
        words = ["--processes", str(wanted.workers), "--lanes", ",".join(wanted.lanes)]
        words += ["--concurrency", str(wanted.concurrency)] if wanted.concurrency else []
        return self._role("worker", words, wanted)

    def _api(self, wanted: Wanted) -> Part:
        # gunicorn looks after its own processes: this one only has to be there.
        return replace(
            self._role("api", ["--port", str(wanted.port)], wanted), progressed_at=lambda pid: time.monotonic()
        )

    def _role(self, name: str, words: list[str], wanted: Wanted) -> Part:
        command = [sys.executable, "-m", "shoal", name, *words, *(["--verbose"] if wanted.verbose else [])]
        home = self.settings.home
        return Part(name, command, self._environment(), home, self._progress, END_WITHIN_S[name])

    def _environment(self) -> dict[str, str]:
        names = ("home", "redis_url", "broker_url", "database_url", "archive_url")
        values = {name: getattr(self.settings, name) for name in names}
        return os.environ | {f"SHOAL_{name.upper()}": str(value) for name, value in values.items() if value}

    def _progress(self, pid: int) -> float | None:
        return next((sign.progressed_at for sign in signs(self.settings.home) if sign.pid == pid), None)


def _hold(home: Path) -> IO[str]:
    """Raises Unavailable if another holds it. The lock ends with the process, however it ends."""
    file = os.fdopen(os.open(home / UP_FILE, os.O_RDWR | os.O_CREAT, 0o600), "r+")
    if taken(file):
        file.truncate(0)
        return file
    pid = json.loads(file.read() or "{}").get("pid", "?")
    raise Unavailable(f"`shoal up` runs in {home} already: process {pid}; end it there, or take another --home")
