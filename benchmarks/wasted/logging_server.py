"""Serves a CGI program or PHP scripts on loopback, and keeps a log of what was requested."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from tests.frontier.redis_server import free_port

PHP_WORKERS = 4
START_S = 60.0
# The server's own log mixes the lines of its processes.
_LOG_EACH = """
register_shutdown_function(function () {{
  $line = (http_response_code() ?: 200) . ' ' . ($_SERVER['REQUEST_URI'] ?? '');
  file_put_contents('{log}', $line . "\\n", FILE_APPEND | LOCK_EX);
}});
"""


class Requested(NamedTuple):
    path: str
    """With its query."""
    status: int


@dataclass
class Site:
    """What is crawled."""

    url: str
    start: str = "/"
    log: list[Requested] = field(default_factory=list)


class Content(NamedTuple):
    """What a crawl of a site should bring."""

    site: Site
    names: set[str]
    """Of its pages that have content."""
    shown: Callable[[str], str | None]
    """Which of them a path shows."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A crawler may end a transfer at the head of an answer."""


@contextmanager
def cgi_program(program: str, environment: Mapping[str, str], base: str = "") -> Iterator[Site]:
    """Every path below `base` is one of the program."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            variables = {"QUERY_STRING": query, "PATH_INFO": path.removeprefix(base), "SCRIPT_NAME": base}
            variables |= {"REQUEST_METHOD": "GET", "SERVER_NAME": "127.0.0.1", "HTTP_HOST": self.headers["Host"]}
            variables |= {"GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1", "REQUEST_URI": self.path}
            answer = subprocess.run([program], env={**os.environ, **environment, **variables}, capture_output=True)
            head, _, body = answer.stdout.replace(b"\r\n", b"\n", 40).partition(b"\n\n")
            headers = [line.partition(":")[::2] for line in head.decode("latin-1").splitlines()]
            status = int(next((value.split()[0] for name, value in headers if name.lower() == "status"), 200))
            site.log.append(Requested(self.path, status))
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in ("status", "content-length"):
                    self.send_header(name, value.strip())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """The site's own log is enough."""

    server = _Server(("127.0.0.1", 0), Handler)
    site = Site(f"http://127.0.0.1:{server.server_port}", f"{base}/")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def php_scripts(root: Path, router: str, scratch: Path, environment: Mapping[str, str], port: int) -> Iterator[Site]:
    """PHP's own web server. `router` is the PHP code that answers a request; it may return false for a file."""
    site = Site(f"http://127.0.0.1:{port}")
    output = scratch / "php.log"
    variables = {**os.environ, "PHP_CLI_SERVER_WORKERS": str(PHP_WORKERS), **environment}
    requests, script = scratch / "php-requests", scratch / "router.php"
    script.write_text("<?php\n" + _LOG_EACH.format(log=requests) + router)
    command = ["php", "-S", f"127.0.0.1:{port}", "-t", str(root), str(script)]
    with output.open("wb") as log:
        server = subprocess.Popen(command, cwd=root, env=variables, stdout=log, stderr=log, start_new_session=True)
    try:
        _await_answer(site.url)
        yield site
    finally:
        os.killpg(server.pid, 15)
        server.wait()
    lines = requests.read_text().splitlines()
    site.log = [Requested(path, int(status)) for status, _, path in (line.partition(" ") for line in lines)]


def _await_answer(url: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        try:
            urlopen(f"{url}/robots.txt").close()
        except URLError as error:
            if hasattr(error, "code"):
                return
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"{url} does not answer")


def unused_port() -> int:
    return free_port()
