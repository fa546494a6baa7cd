"""A crawl that goes on in another process while a test looks at it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from shoal.practice import Running
from tests.cli.conftest import Ran, Shell

T = TypeVar("T")
WITHIN_S = 20.0


@dataclass
class Crawling:
    shoal: Shell
    process: subprocess.Popen[str]
    job: str

    def figures(self) -> dict[str, Any]:
        (figures,) = self.shoal("job", self.job, "--json").lines
        return dict(figures)

    def ended(self) -> Ran:
        out, err = self.process.communicate(timeout=WITHIN_S)
        return Ran(self.process.returncode, out, err)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(WITHIN_S)


@contextmanager
def crawling(shoal: Shell, site: Running, rate: str) -> Iterator[Crawling]:
    """From its first page on; killed at the end of the block unless it has ended."""
    with shoal.start("crawl", site.url(), "--allow-private", "--rate", rate) as process:
        try:
            (job,) = until(lambda: _begun(shoal))
            yield Crawling(shoal, process, job)
        finally:
            process.kill()


def _begun(shoal: Shell) -> list[str]:
    return [job["id"] for job in shoal("jobs", "--json").lines if job["state"] == "running" and job["pages"]]


def until(look: Callable[[], T]) -> T:
    """The first thing seen that is true."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        if seen := look():
            return seen
        time.sleep(0.05)
    raise AssertionError(f"not within {WITHIN_S} s")
