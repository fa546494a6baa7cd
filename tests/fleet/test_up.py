"""`shoal up`: a fleet with one command, that other terminals find, that heals, and that leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import pytest

from shoal.fleet.supervisor import left_behind
from shoal.fleet.up import END_WITHIN_S
from shoal.practice import Running as Site
from shoal.practice import Shop, running
from tests.cli.conftest import Here
from tests.fleet.running import LOOK_EVERY_S
from tests.frontier.redis_server import free_port, redis_program, serves_strangers

T = TypeVar("T")
WITHIN_S = 120.0
DEAF_WORKER = """
import sys
from pathlib import Path

if "celery" in sys.orig_argv:
    from celery.signals import worker_ready

    @worker_ready.connect(weak=False)
    def stop_consuming(sender, **_):
        mark = Path(__file__).with_name("is-deaf")
        if not mark.exists():
            for lane in ("express", "batch", "slow"):
                sender.call_soon(sender.cancel_task_queue, lane)
            sender.call_soon(mark.touch)
"""
"""The first worker takes no slices: Celery has been seen to do so by itself when Redis came back."""
PARTS = ("api", "worker", "tend", "redis")


@dataclass
class Upped:
    """A `shoal up` in another process, whose words are read as they come."""

    shoal: Here
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def listen(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(iter(self.process.stderr.readline, ""))

    @property
    def said(self) -> str:
        return "".join(list(self.lines))

    def until(self, look: Callable[[], T]) -> T:
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline:
            if seen := look():
                return seen
            time.sleep(LOOK_EVERY_S)
        logs = [f"{path}\n{path.read_text()[-1500:]}" for path in (self.shoal.home / "logs").glob("*.log")]
        raise AssertionError("\n".join([f"not within {WITHIN_S} s", self.said, *logs]))

    def until_said(self, words: str) -> None:
        self.until(lambda: words in self.said)

    def until_ready(self) -> None:
        """Until the worker crawls, not only runs."""
        self.until(lambda: "ready:" in self.log("worker"))

    def log(self, name: str) -> str:
        path = self.shoal.home / "logs" / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def pid(self, name: str) -> int:
        return self.until(lambda: left_behind(self.shoal.home, name)) or 0

    def submit(self, url: str, *options: str) -> str:
        ran = self.shoal("submit", url, "--allow-private", "--rate", "30", *options)
        assert ran.code == 0, ran.err
        return ran.out.strip()

    def until_done(self, job: str) -> None:
        self.until(lambda: self.shoal("job", job, "--json").lines[0]["state"] == "done")

    def ended(self) -> int:
        return self.process.wait(WITHIN_S)


@contextmanager
def upped(shoal: Here, *options: str, **env: str) -> Iterator[Upped]:
    redis_program()
    process = shoal.start("up", *options, env={"SHOAL_SLICE_S": "3", "SHOAL_LEASE_S": "6", **env})
    up = Upped(shoal, process)
    listening = threading.Thread(target=up.listen)
    listening.start()
    try:
        up.until_said("the fleet is up")
        yield up
    finally:
        process.kill()
        for name in PARTS:
            if pid := left_behind(shoal.home, name):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        listening.join()
        process.communicate()


@pytest.fixture
def shoal(tmp_path: Path) -> Here:
    return Here(tmp_path)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    shop = Shop(hosts=1, categories=2, products=40, troubled=False)
    with running(shop, log=tmp_path / "site.log") as site:
        yield site


def nothing_runs(shoal: Here) -> bool:
    return all(left_behind(shoal.home, name) is None for name in PARTS)


def answer_of(up: Upped, path: str) -> str:
    """Of the API, at the address that was told; empty until it answers."""
    (address,) = re.findall(r"API: (http://127\.0\.0\.1:\d+)/api", up.said)
    try:
        with urllib.request.urlopen(address + path, timeout=10) as answered:
            return str(answered.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return str(refused.read())
    except OSError:
        return ""


def assert_redis_is_kept_from_others(shoal: Here) -> None:
    told = shoal.home / "up.json"
    url = urlsplit(json.loads(told.read_text())["settings"]["redis_url"])
    assert told.stat().st_mode & 0o777 == 0o600
    assert url.password and url.port and not serves_strangers(url.port)
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(url.password.encode() in command for command in commands)


def test_other_terminals_find_it_and_a_killed_worker_is_replaced_and_nothing_is_left(shoal: Here, site: Site) -> None:
    with upped(shoal, "--workers", "1") as up:
        origin = f"shoal up, process {up.process.pid}"
        assert origin in shoal("config", "show").out
        assert_redis_is_kept_from_others(shoal)
        second = shoal.apart("up")
        assert second.code == 5 and f"process {up.process.pid}" in second.err
        up.until_ready()
        assert shoal("health").code == 0
        assert "Bearer" in up.until(lambda: answer_of(up, "/api/v1/jobs"))
        assert '"ok"' in up.until(lambda: answer_of(up, "/readyz"))
        job = up.submit(site.url())
        up.until(lambda: shoal("job", job, "--json").lines[0]["pages"] > 3)
        killed = up.pid("worker")
        os.kill(killed, signal.SIGKILL)
        up.until_said(f"worker, process {killed}, was killed by SIGKILL")
        up.until_said("worker is restarted")
        up.until_done(job)
        up.process.terminate()
        assert up.ended() == 0 and nothing_runs(shoal)
        assert up.process.stdout is not None
        token_file = shoal.home / "admin-token"
        assert str(token_file) in up.said
        assert token_file.read_text().strip() not in up.said + up.process.stdout.read(), "nothing here is a terminal"
        assert "Redis is now ready to exit" in up.log("redis")
        assert "frontier_lost" not in up.log("tend"), "a new Redis without jobs has lost nothing"
        up.until_said("all processes have stopped")
    assert origin not in shoal("config", "show").out
    figures = shoal("job", job, "--json").lines[0]
    assert figures["pages"] + figures["redirects"] == figures["found"]


def test_processes_left_by_a_killed_up_are_stopped_by_the_next(shoal: Here) -> None:
    with upped(shoal, "--workers", "1") as up:
        up.until_ready()
        left = {name: up.pid(name) for name in PARTS}
        up.process.kill()
        up.process.wait()
        assert shoal("submit", "https://example.com").code == 2
        with upped(shoal, "--workers", "0") as other:
            for name, pid in left.items():
                assert f"{name}, process {pid}, was left behind by an earlier shoal up" in other.said
            assert left_behind(shoal.home, "worker") is None
            assert other.pid("redis") != left["redis"]


def test_a_worker_without_slices_and_a_frozen_tend_are_replaced(shoal: Here, site: Site) -> None:
    (shoal.folder / "sitecustomize.py").write_text(DEAF_WORKER)
    with upped(shoal, "--workers", "1", SHOAL_SILENT_S="6", PYTHONPATH=str(shoal.folder)) as up:
        up.until_ready()
        up.until((shoal.folder / "is-deaf").exists)
        job = up.submit(site.url())
        up.until(lambda: "slices wait in lane batch" in shoal("health").out)
        up.until_said("made no progress for")
        up.until_done(job)
        stopped = up.pid("tend")
        os.kill(stopped, signal.SIGSTOP)
        up.until_said(f"tend, process {stopped}, made no progress for")
        up.until_said("tend is restarted")
        assert up.pid("tend") != stopped


def test_a_second_signal_stops_at_once(shoal: Here) -> None:
    with upped(shoal, "--workers", "1") as up:
        up.until_ready()
        # A worker that does not end by itself.
        os.kill(up.pid("worker"), signal.SIGSTOP)
        up.process.send_signal(signal.SIGINT)
        up.until_said("stopping")
        told = time.monotonic()
        up.process.send_signal(signal.SIGINT)
        assert up.ended() == 0
        # The last of its processes may still be on their way out.
        up.until(lambda: nothing_runs(shoal))
        assert time.monotonic() - told < END_WITHIN_S["worker"], "told once it would have waited so long"


def test_without_redis_it_says_how_to_install_one(shoal: Here, tmp_path: Path) -> None:
    bare = tmp_path / "bin"
    bare.mkdir()
    ran = shoal.apart("up", env={"PATH": str(bare)})
    assert ran.code == 5 and "apt-get install redis-server" in ran.err and "SHOAL_REDIS_URL=" in ran.err


def test_a_port_that_is_taken_is_refused_before_anything_starts(shoal: Here) -> None:
    redis_program()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = shoal.apart("up", "--port", str(port))
    assert ran.code == 2 and f"port {port}: Address already in use; choose another with --port" in ran.err
    assert ran.err.count("\n") == 1 and ran.out == "" and nothing_runs(shoal)


def test_the_port_of_an_api_that_a_killed_up_left_is_not_taken(shoal: Here) -> None:
    port = str(free_port())
    with upped(shoal, "--workers", "0", "--port", port) as up:
        up.until(lambda: answer_of(up, "/readyz"))
        up.process.kill()
        up.process.wait()
        with upped(shoal, "--workers", "0", "--port", port) as other:
            assert '"ok"' in other.until(lambda: answer_of(other, "/readyz"))
