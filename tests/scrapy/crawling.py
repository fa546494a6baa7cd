"""Runs spiders of the test project as their users do: `scrapy crawl`, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.practice.process import Running
from shoal.store.jobs import find_job
from shoal.store.results.items import list_items
from shoal.store.store import Store

PROJECT = Path(__file__).parent / "project"
DEADLINE_S = 120.0


class Spider:
    """One process of a spider."""

    def __init__(
        self, name: str, site: Running, folder: Path, *, output: str = "items.jsonl", lease_s: int = 60, **settings: Any
    ) -> None:
        self.output = folder / output
        given = {"SHOAL_HOME": folder / "home", **settings}
        argv = [sys.executable, "-m", "scrapy", "crawl", name, "-a", f"site={site.url('').rstrip('/')}"]
        argv += ["-o", str(self.output), *(text for key, value in given.items() for text in ("-s", f"{key}={value}"))]
        self._log = (folder / f"{output}.log").open("ab")
        self.log_path = folder / f"{output}.log"
        env = {**os.environ, "SHOAL_LEASE_S": str(lease_s)}
        self.process = subprocess.Popen(argv, cwd=PROJECT, stderr=self._log, stdout=self._log, env=env)

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


def run_spiders(names: list[str], site: Running, folder: Path, **settings: Any) -> dict[str, Counter[str]]:
    """The items of several spiders, which run in one process."""
    output = folder / f"{len(list(folder.iterdir()))}.json"
    given = json.dumps({"SHOAL_HOME": str(folder / "home"), **settings})
    program = str(PROJECT.parent / "run_spiders.py")
    argv = [sys.executable, program, str(output), site.url("").rstrip("/"), ",".join(names), given]
    ran = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, timeout=DEADLINE_S)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(output.read_text())
    return {name: Counter(json.dumps(item, sort_keys=True) for item in items) for name, items in found.items()}
