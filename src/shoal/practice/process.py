"""Runs the practice site in a child process, which ends with the block that started it, or with its parent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from shoal.errors import Unavailable
from shoal.practice.hostile import Hostile, HostileScripts
from shoal.practice.polite_site import PoliteSite
from shoal.practice.request_log import DISCARD, LogEntry, read_log
from shoal.practice.shop import Shop
from shoal.practice.wiki import Wiki

PracticeSite = Shop | Hostile | HostileScripts | PoliteSite | Wiki
_STOP_S = 5.0


@dataclass(frozen=True, slots=True)
class Running:
    """A practice site in another process."""

    pid: int
    port: int
    addresses: tuple[str, ...]
    control_url: str
    log_path: Path

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"http://{host or self.addresses[0]}:{self.port}{path}"

    def control(self, **changes: str | float) -> dict[str, Any]:
        """Changes `latency_ms`, `jitter_ms`, `status` or `down` of one `host` or all; returns the new conditions."""
        # No proxy from the environment between this process and its child.
        opener = build_opener(ProxyHandler({}))
        with opener.open(f"{self.control_url}?{urlencode(changes)}", timeout=_STOP_S) as answer:
            conditions: dict[str, Any] = json.load(answer)
        return conditions

    def log(self) -> list[LogEntry]:
        """All visits that have ended so far; once the site has stopped, use `read_log`."""
        assert self.log_path != DISCARD, "this site was started without a log"
        self.control()
        return read_log(self.log_path)


@contextmanager
def running(
    site: PracticeSite,
    *,
    log: Path = DISCARD,
    port: int = 0,
    latency_ms: float = 0,
    jitter_ms: float = 0,
) -> Iterator[Running]:
    """Starts the site's server in a child process, and ends it when the block is left."""
    argv = [sys.executable, "-m", "shoal.practice", "--with-parent", f"--port={port}", f"--log={log}"]
    argv += [f"--latency={latency_ms}", f"--latency-jitter={jitter_ms}", *_site_options(site)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield _ready(child, log)
        finally:
            _end(child)


def _site_options(site: PracticeSite) -> list[str]:
    if isinstance(site, PoliteSite):
        return ["--asking"]
    if isinstance(site, Wiki):
        return [f"--wiki={site.articles}", f"--seed={site.seed}"]
    if isinstance(site, Hostile):
        return ["--hostile", *(["--hurried"] if site.hurried else [])]
    if isinstance(site, HostileScripts):
        return [f"--hostile-scripts={site.good}", f"--every={site.every}"]
    return _shop_options(site)


def _shop_options(shop: Shop) -> list[str]:
    counts = {"seed": shop.seed, "hosts": shop.hosts, "categories": shop.categories}
    counts |= {"products": shop.products, "per-page": shop.per_page}
    options = [f"--{name}={value}" for name, value in counts.items()]
    return options if shop.troubled else [*options, "--untroubled"]


def _ready(child: subprocess.Popen[str], log: Path) -> Running:
    assert child.stdout
    line = child.stdout.readline()
    if not line:
        raise Unavailable(f"the practice site ended at once with code {child.wait()}; its own message is above")
    ready = json.loads(line)
    return Running(child.pid, ready["port"], tuple(ready["hosts"]), ready["control"], log)


def _end(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
