"""`shoal health`: what a probe sees of the roles of a machine, from files alone."""

from __future__ import annotations

import fcntl
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.fleet.heartbeat_files import Heartbeat, last_heartbeats
from shoal.settings import UP_FILE
from tests.cli.conftest import Shell
from tests.cli.crawling import WITHIN_S


@pytest.fixture
def shoal(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def worker(shoal: Shell) -> Iterator[Heartbeat]:
    """This process plays one."""
    life = Heartbeat(shoal.home, "worker")
    yield life
    life.end()


def test_health_fails_if_no_process_runs(shoal: Shell) -> None:
    ran = shoal("health")
    assert ran.code == 5 and "no worker and no tend" in ran.err and str(shoal.home) in ran.err


def test_a_process_that_makes_progress_is_healthy(shoal: Shell, worker: Heartbeat) -> None:
    worker.progressed(time.monotonic())
    ran = shoal("health")
    assert ran.code == 0 and "worker" in ran.out and "makes progress" in ran.out


def test_a_silence_is_shown_before_it_counts_as_failure(shoal: Shell, worker: Heartbeat) -> None:
    worker.progressed(time.monotonic() - 31)
    ran = shoal("health")
    assert ran.code == 0 and "makes progress, last 3" in ran.out and "s ago" in ran.out


def test_a_process_that_waits_for_a_server_is_healthy_and_names_it(shoal: Shell, worker: Heartbeat) -> None:
    worker.progressed(time.monotonic(), "Redis at there:6379 does not answer")
    ran = shoal("health")
    assert ran.code == 0 and "waiting: Redis at there:6379 does not answer" in ran.out


def test_a_silent_process_fails_with_its_pid_time_and_reason(shoal: Shell, worker: Heartbeat) -> None:
    worker.progressed(time.monotonic() - 75)
    ran = shoal("health")
    assert ran.code == 5 and re.search(r"no progress for (7[5-9]|8\d) s: it is stopped or hangs", ran.out)
    worker.progressed(time.monotonic() - 75, "slices wait in batch")
    (told, ended) = shoal("health", "--json").lines
    assert (told["role"], told["fault"], 74 < told["silent_s"] < 90) == ("worker", "slices wait in batch", True)
    assert ended["type"] == "exit_error" and str(told["pid"]) in ended["message"]


def test_the_allowed_silence_is_a_setting(shoal: Shell, worker: Heartbeat) -> None:
    worker.progressed(time.monotonic() - 75)
    assert shoal("health", env={"SHOAL_SILENT_S": "300"}).code == 0


def test_a_role_that_was_killed_fails_until_another_takes_its_place(shoal: Shell, worker: Heartbeat) -> None:
    lives = "from shoal.fleet.heartbeat_files import Heartbeat; Heartbeat(pathlib.Path(sys.argv[1]), 'tend')"
    code = f"import os, sys, pathlib; {lives}; os._exit(9)"
    subprocess.run([sys.executable, "-c", code, shoal.home], check=False)
    ran = shoal("health")
    assert ran.code == 5 and "has not been replaced" in ran.out and "tend" in ran.err
    with shoal.start("tend", env={"SHOAL_REDIS_URL": "redis://127.0.0.1:1/0"}) as tend:
        assert tend.stderr is not None and "waiting: Redis at 127.0.0.1:1" in tend.stderr.readline()
        ran = shoal("health")
        assert ran.code == 0 and f"process {tend.pid}  alive, but waiting: Redis at 127.0.0.1:1" in ran.out
        tend.terminate()
        assert tend.wait(WITHIN_S) == 0


def test_a_process_that_shoal_up_cannot_start_fails(shoal: Shell, worker: Heartbeat) -> None:
    with (shoal.home / UP_FILE).open("w") as told:
        told.write('{"pid": 1, "settings": {}, "parts": ["redis", "tend", "worker", "api"]}')
        told.flush()
        assert shoal("health").code == 0, "nobody holds it: that `shoal up` has ended"
        fcntl.flock(told, fcntl.LOCK_EX)
        ran = shoal("health")
        assert ran.code == 5 and "worker" in ran.out and "error: no progress: tend has not started" in ran.err
        assert f"tend    has not started: `shoal up` starts it: see its log {shoal.home}/logs/tend.log" in ran.out
        assert shoal("health", "--json").lines[1]["pid"] is None


def test_reading_other_heartbeats_keeps_the_own_lock(shoal: Shell, worker: Heartbeat) -> None:
    assert list(last_heartbeats(shoal.home)) == []
    assert "killed" not in shoal("health").out


def test_the_probe_is_cheap() -> None:
    code = "import sys, shoal.cli.commands.health; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"celery", "redis", "sqlalchemy", "asyncio", "pycurl"}.isdisjoint(loaded)
