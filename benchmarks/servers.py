"""nginx for a directory: its own process with its own configuration, on loopback addresses only."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.certificate import issue
from benchmarks.measure import CannotMeasure
from benchmarks.site import address

START_S = 10.0
_INSTALL = ["apt-get", "install", "--yes", "--no-install-recommends", "nginx-light"]

_CONFIG = """
daemon off;
worker_processes 1;
{user}
pid {scratch}/nginx.pid;
error_log stderr error;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  gzip off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 60s;
  keepalive_requests 10000000;
  types {{ text/html html; }}
  client_body_temp_path {scratch};
  proxy_temp_path {scratch};
  fastcgi_temp_path {scratch};
  uwsgi_temp_path {scratch};
  scgi_temp_path {scratch};
  server {{
    root {root};
    {listens}
    {certificate}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a site is served: with TLS or not, on one port of its hosts; page n is on host n modulo their number."""

    hosts: tuple[str, ...]
    port: int
    tls: bool

    def url(self, number: int) -> str:
        host = self.hosts[number % len(self.hosts)]
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{address(number)}"

    def href(self, number: int) -> str:
        return address(number) if len(self.hosts) == 1 else self.url(number)


@contextmanager
def nginx(place: Place, root: Path, scratch: Path) -> Iterator[dict[str, str]]:
    """Serves `root` while the block runs; gives the environment variables that a crawler needs for it."""
    program = _program()
    # As root, nginx would run its worker as a user who may not be able to read this tree.
    user = "user root root;" if os.geteuid() == 0 else ""
    config = scratch / "nginx.conf"
    protocols = "ssl http2 " if place.tls else ""
    # Each address by itself: a wildcard would be open to the network.
    listens = "\n    ".join(f"listen {host}:{place.port} {protocols}backlog=1024;" for host in place.hosts)
    certificate, environment = _certificate(place, scratch) if place.tls else ("", {})
    config.write_text(_CONFIG.format(user=user, scratch=scratch, root=root, listens=listens, certificate=certificate))
    with subprocess.Popen([program, "-p", scratch, "-c", config, "-e", "stderr"]) as server:
        try:
            _wait_until_open(server, place)
            yield environment
        finally:
            server.terminate()


def _certificate(place: Place, scratch: Path) -> tuple[str, dict[str, str]]:
    issued = issue(scratch, place.hosts)
    return (
        f"ssl_certificate {issued.chain}; ssl_certificate_key {issued.key};",
        {"SSL_CERT_FILE": str(issued.authority)},
    )


def version() -> str:
    return subprocess.run([_program(), "-v"], capture_output=True, text=True, check=True).stderr.split("/")[-1].strip()


def _program() -> str:
    """Debian installs nginx outside a user's PATH."""
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
    if not shutil.which("nginx", path=path) and os.geteuid() == 0 and shutil.which("apt-get"):
        print("nginx is missing:", *_INSTALL, file=sys.stderr)
        subprocess.run(_INSTALL, stdout=subprocess.DEVNULL, check=False)
    found = shutil.which("nginx", path=path)
    if not found:
        raise CannotMeasure("nginx is missing; install it first (Debian, Ubuntu: apt-get install nginx-light)")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_until_open(server: subprocess.Popen[bytes], place: Place) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((place.hosts[-1], place.port)) == 0:
                return
        time.sleep(0.02)
    raise CannotMeasure(f"nginx did not open port {place.port} within {START_S:.0f} s; its own message is above")
