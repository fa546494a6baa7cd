"""nginx in front of a directory: a process of our own with a configuration of our own, on a free loopback port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import CannotMeasure

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
  server {{ listen 127.0.0.1:{port} backlog=1024; root {root}; }}
}}
"""


@contextmanager
def nginx(root: Path, scratch: Path) -> Iterator[str]:
    """Serves `root` while the block runs; gives the front page's URL."""
    program = _program()
    port = _free_port()
    # As root, nginx would hand its worker to a user who may not be able to read this tree.
    user = "user root root;" if os.geteuid() == 0 else ""
    config = scratch / "nginx.conf"
    config.write_text(_CONFIG.format(user=user, scratch=scratch, port=port, root=root))
    with subprocess.Popen([program, "-p", scratch, "-c", config, "-e", "stderr"]) as server:
        try:
            _wait_until_open(server, port)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()


def version() -> str:
    return subprocess.run([_program(), "-v"], capture_output=True, text=True, check=True).stderr.split("/")[-1].strip()


def _program() -> str:
    """Debian keeps nginx where a user's PATH does not look."""
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
    if not shutil.which("nginx", path=path) and os.geteuid() == 0 and shutil.which("apt-get"):
        print("nginx is missing:", *_INSTALL, file=sys.stderr)
        subprocess.run(_INSTALL, stdout=subprocess.DEVNULL, check=False)
    found = shutil.which("nginx", path=path)
    if not found:
        raise CannotMeasure("nginx is missing; install it first (Debian, Ubuntu: apt-get install nginx-light)")
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_until_open(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise CannotMeasure(f"nginx did not open port {port} within {START_S:.0f} s; its own message is above")
