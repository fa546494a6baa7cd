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
WITHIN_S = 120.0
RATE = "0.4"


@dataclass
class Crawling:
    shoal: Shell
    site: Running
    process: subprocess.Popen[str]
    job: str

    @property
    def host(self) -> str:
        return f"{self.site.addresses[0]}:{self.site.port}"

    def hurry(self) -> None:
        """Lets it come to its end."""
        assert self.shoal("hosts", self.host, "--rate", "100").code == 0

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
def crawling(shoal: Shell, site: Running, rate: str = RATE) -> Iterator[Crawling]:
    """From its first page on, too slow to end by itself within the block, at whose end it is killed."""
    with shoal.start("crawl", site.url(), "--allow-private", "--rate", rate) as process:
        try:
            (job,) = until(lambda: _begun(shoal))
            yield Crawling(shoal, site, process, job)
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
