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

from shoal.fleet.life import Life, signs
from shoal.settings import UP_FILE
from tests.cli.conftest import Shell


@pytest.fixture
def shoal(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def worker(shoal: Shell) -> Iterator[Life]:
    """This process plays one."""
    life = Life(shoal.home, "worker")
    yield life
    life.end()


def test_without_any_role_it_fails(shoal: Shell) -> None:
    ran = shoal("health")
    assert ran.code == 5 and "no worker and no tend" in ran.err and str(shoal.home) in ran.err


def test_a_role_that_makes_progress_is_well(shoal: Shell, worker: Life) -> None:
    worker.progressed(time.monotonic())
    ran = shoal("health")
    assert ran.code == 0 and "worker" in ran.out and "makes progress" in ran.out


def test_a_silence_is_told_before_it_is_a_fault(shoal: Shell, worker: Life) -> None:
    worker.progressed(time.monotonic() - 31)
    ran = shoal("health")
    assert ran.code == 0 and "makes progress, last 3" in ran.out and "s ago" in ran.out


def test_a_role_that_waits_for_a_server_is_alive_and_says_so(shoal: Shell, worker: Life) -> None:
    worker.progressed(time.monotonic(), "Redis at there:6379 does not answer")
    ran = shoal("health")
    assert ran.code == 0 and "waits: Redis at there:6379 does not answer" in ran.out


def test_a_silent_role_fails_with_its_process_since_when_and_why(shoal: Shell, worker: Life) -> None:
    worker.progressed(time.monotonic() - 75)
    ran = shoal("health")
    assert ran.code == 5 and re.search(r"no progress for (7[5-9]|8\d) s: it is stopped, or stuck", ran.out)
    worker.progressed(time.monotonic() - 75, "slices wait in batch")
    (told, ended) = shoal("health", "--json").lines
    assert (told["role"], told["fault"], 74 < told["silent_s"] < 90) == ("worker", "slices wait in batch", True)
    assert ended["type"] == "exit_error" and str(told["pid"]) in ended["message"]


def test_how_long_silence_may_last_is_a_setting(shoal: Shell, worker: Life) -> None:
    worker.progressed(time.monotonic() - 75)
    assert shoal("health", env={"SHOAL_SILENT_S": "300"}).code == 0


def test_a_role_that_was_killed_fails_until_another_takes_its_place(shoal: Shell, worker: Life) -> None:
    code = (
        "import os, sys, pathlib, shoal.fleet.life as life; life.Life(pathlib.Path(sys.argv[1]), 'tend'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, shoal.home], check=False)
    ran = shoal("health")
    assert ran.code == 5 and "no other has taken its place" in ran.out and "tend" in ran.err
    with shoal.start("tend", env={"SHOAL_REDIS_URL": "redis://127.0.0.1:1/0"}) as tend:
        assert tend.stderr is not None and "waiting: Redis at 127.0.0.1:1" in tend.stderr.readline()
        ran = shoal("health")
        assert ran.code == 0 and f"process {tend.pid}  alive, but waits: Redis at 127.0.0.1:1" in ran.out
        tend.terminate()
        assert tend.wait(10) == 0


def test_a_role_that_shoal_up_should_have_and_that_does_not_begin_fails(shoal: Shell, worker: Life) -> None:
    with (shoal.home / UP_FILE).open("w") as told:
        told.write('{"pid": 1, "settings": {}, "parts": ["redis", "tend", "worker", "api"]}')
        told.flush()
        assert shoal("health").code == 0, "nobody holds it: that `shoal up` has ended"
        fcntl.flock(told, fcntl.LOCK_EX)
        ran = shoal("health")
        assert ran.code == 5 and "worker" in ran.out and "error: no progress: tend has not begun" in ran.err
        assert f"tend    has not begun: `shoal up` starts it: {shoal.home}/logs/tend.log" in ran.out
        assert shoal("health", "--json").lines[1]["pid"] is None


def test_a_process_that_looks_at_others_keeps_its_own_lock(shoal: Shell, worker: Life) -> None:
    assert list(signs(shoal.home)) == []
    assert "killed" not in shoal("health").out


def test_the_probe_is_cheap() -> None:
    code = "import sys, shoal.cli.health; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"celery", "redis", "sqlalchemy", "asyncio", "pycurl"}.isdisjoint(loaded)
