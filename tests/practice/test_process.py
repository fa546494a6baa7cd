import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.errors import Unavailable
from shoal.practice import Running, Shop, read_log, running
from tests.practice.visitor import get

SMALL = Shop(hosts=2, categories=1, products=2)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _until(true: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.01)


def test_the_child_serves_the_given_shop(site: Running, shop: Shop) -> None:
    assert site.addresses == shop.addresses
    for host, truth in shop.truth().items():
        product = next(path for path in truth.pages if path.startswith("/product/"))
        assert b"price_color" in get(site.url(product, host))[1]


def test_the_child_ends_with_the_block_and_leaves_a_complete_log(tmp_path: Path) -> None:
    with running(SMALL, log=tmp_path / "log") as site:
        for _ in range(3):
            get(site.url("/"))
    with pytest.raises(ProcessLookupError):
        os.kill(site.pid, 0)
    assert len(read_log(tmp_path / "log")) == 3


def test_the_child_ends_when_the_block_fails() -> None:
    with pytest.raises(KeyError), running(SMALL) as site:
        raise KeyError
    assert not _listens(site.port)


def test_the_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = f"""
import pathlib, time
from shoal.practice import Shop, running
with running(Shop(hosts=1), log=pathlib.Path({str(log)!r})) as site:
    print(site.port, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        port = int(parent.stdout.readline())
        get(f"http://127.0.0.1:{port}/")
        parent.send_signal(signal.SIGKILL)
    _until(lambda: not _listens(port), "the practice site outlived its parent")
    _until(lambda: [entry.path for entry in read_log(log)] == ["/"], "the visit is not in the log")


def test_control_and_log_work_from_the_parent(tmp_path: Path) -> None:
    with running(SMALL, log=tmp_path / "log", latency_ms=20, jitter_ms=5) as site:
        get(site.url("/"))
        assert site.control(latency_ms=0)["127.0.0.2"] == {
            "latency_ms": 0,
            "jitter_ms": 5,
            "status": 0,
            "down": False,
        }
        [entry] = site.log()
    assert entry.t_end - entry.t_start >= 0.019


def test_a_child_that_cannot_start_is_reported(site: Running) -> None:
    with pytest.raises(Unavailable, match="code 5"), running(SMALL, port=site.port):
        pass


def test_help_and_invalid_counts_have_plain_messages() -> None:
    command = [sys.executable, "-m", "shoal.practice"]
    said = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    assert "--latency-jitter MS" in said
    refused = subprocess.run([*command, "--hosts", "0"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "must be at least 1" in refused.stderr
