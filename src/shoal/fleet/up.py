"""Runs a whole fleet on this machine: its own Redis unless the settings name one, tend, a worker and the API.

While it runs, commands with the same home find the fleet by a file there.
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
from shoal.file_lock import try_lock
from shoal.fleet.celery_config import configuration
from shoal.fleet.fleet import Fleet
from shoal.fleet.fleet_status import FleetStatus, read_fleet_status
from shoal.fleet.heartbeat_files import last_heartbeats
from shoal.fleet.local_redis import local_redis
from shoal.fleet.port_check import check_port
from shoal.fleet.supervisor import SupervisedProcess, kill_group, left_behind
from shoal.jobs.deployment import make_folder
from shoal.settings import UP_FILE, Settings
from shoal.settings.server_urls import next_database

LOOK_EVERY_S = 0.25
STATUS_EVERY_S = 2.0
API_HOST = "127.0.0.1"
REDIS_WITHIN_S = 20.0
END_WITHIN_S = {"api": 25.0, "worker": 40.0, "browsers": 40.0, "tend": 10.0, "redis": 20.0}
"""In the order in which they are stopped: workers before Redis, so that they can release their requests."""


@dataclass(frozen=True, slots=True)
class LocalFleetOptions:
    workers: int
    """The number of worker processes; 0: no worker."""
    browsers: int
    """How many more have a browser each."""
    lanes: Sequence[str]
    concurrency: int | None
    port: int
    """The port of the API, on loopback."""
    verbose: bool


class LocalFleet:
    def __init__(self, settings: Settings, wanted: LocalFleetOptions, say: Callable[[str], None]) -> None:
        """Raises Unavailable if another `shoal up` holds the home, or Redis is not installed; UsageError if the port is
        taken."""
        if settings.redis_url is not None:
            # Otherwise each process would find the error itself, and be restarted again and again.
            configuration(settings)
        make_folder(settings.home)
        self._say = say
        self._held = _hold(settings.home)
        if left_behind(settings.home, "api") is None:
            # Otherwise an old API usually has the port, and is stopped before the new one starts.
            check_port(API_HOST, wanted.port)
        self._redis_at = time.monotonic()
        self._redis: SupervisedProcess | None = None
        if settings.redis_url is None:
            settings = self._with_own_redis(settings)
        self.settings = settings
        self.api_url = f"http://{API_HOST}:{wanted.port}"
        self.began_at = time.monotonic()
        self.started = asyncio.Event()
        self.seen = FleetStatus()
        self.fleet = Fleet(settings)
        roles = self._tend(wanted), self._worker(wanted), self._browsers(wanted), self._api(wanted)
        self.parts = [part for part in (self._redis, *roles) if part]

    async def run(self, stopping: asyncio.Event) -> None:
        """Runs until `stopping` is set; its processes run until `end`."""
        await self._end_leftovers()
        for part in self.parts:
            part.start()
            if part is self._redis:
                await self._until_redis_answers()
        self._write_up_file()
        self.seen = await read_fleet_status(self.fleet)
        self.started.set()
        reading = asyncio.create_task(self._read_status())
        try:
            while not stopping.is_set():
                for part in self.parts:
                    if news := part.look(self.settings.silent_s):
                        self._say(news)
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def end(self, at_once: asyncio.Event) -> None:
        """Stops all processes. Workers release what they cannot finish; our own Redis saves its data even if stopped at
        once."""
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
        # The file stays: without its lock it means nothing, and removing it would race with another `shoal up`.
        self._held.close()

    async def _end_leftovers(self) -> None:
        for name, within_s in END_WITHIN_S.items():
            pid = left_behind(self.settings.home, name)
            if pid is None:
                continue
            self._say(f"{name}, process {pid}, was left behind by an earlier shoal up: stopping it")
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

    async def _read_status(self) -> None:
        while True:
            self.seen = await read_fleet_status(self.fleet)
            if self.seen.redis_answers:
                self._redis_at = time.monotonic()
            await asyncio.sleep(STATUS_EVERY_S)

    def _write_up_file(self) -> None:
        """Writes the fleet's URLs, so that commands in this home find the fleet by themselves."""
        names = ("redis_url", "broker_url", "database_url", "archive_url")
        urls = {name: value for name in names if (value := getattr(self.settings, name)) is not None}
        parts = [part.name for part in self.parts]
        self._held.write(json.dumps({"pid": os.getpid(), "settings": urls, "parts": parts, "api": self.api_url}))
        self._held.flush()

    def _with_own_redis(self, settings: Settings) -> Settings:
        redis = local_redis(settings.home)
        self._redis = SupervisedProcess(
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

    def _tend(self, wanted: LocalFleetOptions) -> SupervisedProcess:
        return self._role("tend", [], wanted)

    def _worker(self, wanted: LocalFleetOptions) -> SupervisedProcess | None:
        if not wanted.workers:
            return None
        return self._role("worker", ["--processes", str(wanted.workers), *_worker_options(wanted)], wanted)

    def _browsers(self, wanted: LocalFleetOptions) -> SupervisedProcess | None:
        """A worker of its own: the others need no memory for browsers."""
        if not wanted.browsers:
            return None
        options = ["--browsers", str(wanted.browsers), *_worker_options(wanted)]
        return self._role("browsers", options, wanted, command="worker")

    def _api(self, wanted: LocalFleetOptions) -> SupervisedProcess:
        # gunicorn supervises its own processes: its main process only has to exist.
        return replace(
            self._role("api", ["--port", str(wanted.port)], wanted), progressed_at=lambda pid: time.monotonic()
        )

    def _role(self, name: str, options: list[str], wanted: LocalFleetOptions, command: str = "") -> SupervisedProcess:
        """`command` is that of shoal, if it has another name."""
        verbose = ["--verbose"] if wanted.verbose else []
        words = [sys.executable, "-m", "shoal", command or name, *options, *verbose]
        home = self.settings.home
        return SupervisedProcess(name, words, self._environment(), home, self._progress, END_WITHIN_S[name])

    def _environment(self) -> dict[str, str]:
        names = ("home", "redis_url", "broker_url", "database_url", "archive_url", "spool_bytes")
        values = {name: getattr(self.settings, name) for name in names}
        return os.environ | {f"SHOAL_{name.upper()}": str(value) for name, value in values.items() if value}

    def _progress(self, pid: int) -> float | None:
        return next((sign.progressed_at for sign in last_heartbeats(self.settings.home) if sign.pid == pid), None)


def _worker_options(wanted: LocalFleetOptions) -> list[str]:
    concurrency = ["--concurrency", str(wanted.concurrency)] if wanted.concurrency else []
    return ["--lanes", ",".join(wanted.lanes), *concurrency]


def _hold(home: Path) -> IO[str]:
    """Locks the home for this `shoal up`. Raises Unavailable if another holds it. The lock ends with the process."""
    file = os.fdopen(os.open(home / UP_FILE, os.O_RDWR | os.O_CREAT, 0o600), "r+")
    if try_lock(file):
        file.truncate(0)
        return file
    pid = json.loads(file.read() or "{}").get("pid", "?")
    raise Unavailable(f"`shoal up` runs in {home} already: process {pid}; stop it, or choose another --home")
