"""Runs spiders of the test project as their users do: `scrapy crawl`, each in a process of its own.

They are forks of one that has imported Scrapy, which takes longer than most of these crawls.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any

from shoal.practice.process import Running
from shoal.store.jobs import find_job
from shoal.store.results.items import list_items
from shoal.store.store import Store
from tests.cli.in_process import Ran
from tests.fork_server import ForkServer

PROJECT = Path(__file__).parent / "project"
DEADLINE_S = 120.0
_LIBRARIES = (
    *("scrapy.cmdline", "scrapy.commands.bench", "scrapy.commands.check", "scrapy.commands.shell", "scrapy.squeues"),
    *("scrapy.core.downloader.handlers.http11", "scrapy.downloadermiddlewares.redirect", "scrapy.pipelines.files"),
    *("scrapy.downloadermiddlewares.httpcompression", "scrapy.downloadermiddlewares.retry"),
    *("scrapy.extensions.remote_control", "scrapy.extensions.telnet", "scrapy.extensions.memusage", "aiohttp.web"),
    *("shoal.scrapy.scheduler", "shoal.scrapy.home_crawl", "shoal.scrapy.redis_crawl", "shoal.scrapy.pipeline"),
)
"""None of them chooses a reactor: a project's settings do that."""


@cache
def _fork_server() -> ForkServer:
    return ForkServer(*_LIBRARIES)


class Spider:
    """One process of a spider."""

    def __init__(
        self, name: str, site: Running, folder: Path, *, output: str = "items.jsonl", lease_s: int = 60, **settings: Any
    ) -> None:
        self.output = folder / output
        given = {"SHOAL_HOME": folder / "home", **settings}
        argv = ["crawl", name, "-a", f"site={site.url('').rstrip('/')}"]
        argv += ["-o", str(self.output), *(text for key, value in given.items() for text in ("-s", f"{key}={value}"))]
        self._log = (folder / f"{output}.log").open("ab")
        self.log_path = folder / f"{output}.log"
        env = {**os.environ, "SHOAL_LEASE_S": str(lease_s)}
        self.process = _fork_server().start("scrapy", *argv, cwd=PROJECT, env=env, output=self._log)

    def wait(self, *, succeeds: bool = True) -> str:
        """Returns the log. Scrapy's exit code says little about a spider that could not start."""
        code = self.process.wait(DEADLINE_S)
        self._log.close()
        assert code == 0 or not succeeds, self.log
        return self.log

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._log.close()

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def items(self) -> list[dict[str, Any]]:
        """The readable lines of its feed: a kill may have torn the last."""
        lines = self.output.read_text().splitlines() if self.output.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]


def eventually(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def stored_items(folder: Path, job: str) -> Counter[str]:
    """`job`: its id or its name."""
    store = Store.open(folder / "home" / "shoal.db")
    try:
        return Counter(json.dumps(item, sort_keys=True) for item in list_items(store, find_job(store, job).id, {}))
    finally:
        store.close()


PLAIN_SCRAPY = {
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
    "ITEM_PIPELINES": {},
}


def run_apart(folder: Path, program: str, *args: str, cwd: Path, env: Mapping[str, str]) -> Ran:
    """In a process of its own."""
    with tempfile.TemporaryFile("w+", dir=folder) as output, tempfile.TemporaryFile("w+", dir=folder) as errors:
        process = _fork_server().start(program, *args, cwd=cwd, env=env, output=output, errors=errors)
        code = process.wait(DEADLINE_S)
        return Ran(code, *(_read(file) for file in (output, errors)))


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def run_spiders(names: list[str], site: Running, folder: Path, **settings: Any) -> dict[str, Counter[str]]:
    """The items of several spiders, which run in one process."""
    output = folder / f"{len(list(folder.iterdir()))}.json"
    given = json.dumps({"SHOAL_HOME": str(folder / "home"), **settings})
    program = str(PROJECT.parent / "run_spiders.py")
    argv = [program, str(output), site.url("").rstrip("/"), ",".join(names), given]
    log = output.with_suffix(".log")
    with log.open("wb") as opened:
        process = _fork_server().start(*argv, cwd=PROJECT, env=os.environ, output=opened)
    assert process.wait(DEADLINE_S) == 0, log.read_text()
    found = json.loads(output.read_text())
    return {name: Counter(json.dumps(item, sort_keys=True) for item in items) for name, items in found.items()}
