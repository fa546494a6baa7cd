"""Real proxies on loopback: tinyproxy, microsocks and dante, each with an address of its own for the way out.

The site sees that address, so its log tells which proxy a request came through, and that none came without one.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.frontier.redis_server import free_port

START_S = 60.0


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        assert not os.environ.get("CI"), f"{name} is missing: `make servers` as root installs it"
        pytest.skip(f"{name} is missing: `make servers` as root installs it")
    return found


@contextmanager
def tinyproxy(folder: Path, address: str, password: str = "") -> Iterator[int]:
    """Gives its port. It connects to sites from `address`."""
    port = free_port()
    lines = [f"Port {port}", "Listen 127.0.0.1", f"Bind {address}", "Timeout 60", "MaxClients 100", "Allow 127.0.0.1"]
    if password:
        lines.append(f"BasicAuth ann {password}")
    config = folder / f"tinyproxy-{port}.conf"
    config.write_text("\n".join([*lines, f'LogFile "{folder}/tinyproxy-{port}.log"', "LogLevel Error", ""]))
    with _running([program("tinyproxy"), "-d", "-c", str(config)], port):
        yield port


@contextmanager
def microsocks(address: str, password: str = "") -> Iterator[int]:
    port = free_port()
    login = ["-u", "ann", "-P", password] if password else []
    with _running([program("microsocks"), "-i", "127.0.0.1", "-p", str(port), "-b", address, *login], port):
        yield port


@contextmanager
def dante(folder: Path, address: str) -> Iterator[int]:
    port = free_port()
    config = folder / f"dante-{port}.conf"
    config.write_text(
        f"logoutput: {folder}/dante.log\n"
        f"internal: 127.0.0.1 port = {port}\nexternal: {address}\n"
        "clientmethod: none\nsocksmethod: none\nuser.unprivileged: nobody\n"
        "client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }\nsocks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }\n"
    )
    with _running([program("danted"), "-f", str(config), "-p", str(folder / "dante.pid")], port):
        yield port


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_S
        while not _listens(port):
            assert time.monotonic() < deadline and process.poll() is None, f"{command[0]} does not start"
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
