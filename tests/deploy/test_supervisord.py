"""deploy/supervisord.conf run as it stands, but for its paths, port and user: supervisord starts the roles, starts one
again that was killed, and ends them all."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.fleet.heartbeat_files import LastHeartbeat, last_heartbeats
from tests.deploy.composed import ROOT
from tests.frontier.redis_server import RedisServer, free_port

FILE = ROOT / "deploy" / "supervisord.conf"
WITHIN_S = 120.0


@contextmanager
def supervised(folder: Path, redis_url: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    text = FILE.read_text()
    for there, here in (
        ("/opt/shoal/bin/shoal", f"{sys.executable} -m shoal"),
        ("/run/", f"{folder}/"),
        ("/var/lib/shoal", str(folder / "home")),
        ("--port 8000", f"--port {port}"),
        ("user=root", f"user={getpass.getuser()}"),
        ("user=shoal", f"user={getpass.getuser()}"),
    ):
        assert there in text
        text = text.replace(there, here)
    (folder / "supervisord.conf").write_text(text)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    environment = clean | {"SHOAL_HOME": str(folder / "home"), "SHOAL_REDIS_URL": redis_url, "SHOAL_LOG": "json"}
    words = [sys.executable, "-m", "supervisor.supervisord", "-c", str(folder / "supervisord.conf")]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(words, env=environment, stdout=said, stderr=said)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(WITHIN_S)


def living(folder: Path) -> dict[str, list[LastHeartbeat]]:
    """The signs of life in the home, by role."""
    found: dict[str, list[LastHeartbeat]] = {}
    for sign in last_heartbeats(folder / "home"):
        if not sign.is_dead:
            found.setdefault(sign.role, []).append(sign)
    return found


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def test_its_roles_come_up_are_replaced_and_end_with_it(tmp_path: Path) -> None:
    (tmp_path / "redis").mkdir()
    port = free_port()
    with RedisServer(tmp_path / "redis") as redis, supervised(tmp_path, redis.url, port) as process:
        deadline = time.monotonic() + WITHIN_S
        while not ({"worker", "child", "tend"} <= living(tmp_path).keys() and is_ready(port)):
            assert time.monotonic() < deadline and process.poll() is None, (tmp_path / "said").read_text()
            time.sleep(0.2)
        (killed,) = living(tmp_path)["tend"]
        os.kill(killed.pid, signal.SIGKILL)
        while [sign.pid for sign in living(tmp_path).get("tend", ())] in ([], [killed.pid]):
            assert time.monotonic() < deadline, (tmp_path / "said").read_text()
            time.sleep(0.2)
        assert (tmp_path / "shoal-supervisord.pid").read_text().strip() == str(process.pid)
        process.terminate()
        assert process.wait(WITHIN_S) == 0, (tmp_path / "said").read_text()
        assert living(tmp_path) == {} and not is_ready(port)
