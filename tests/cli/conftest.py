"""The command as a user runs it: its exit code, what it printed, and the site's own log."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from shoal.practice import Running, Shop, running
from tests.cli.in_process import Ran as Ran
from tests.cli.in_process import run_here

TIMEOUT_S = 120.0


class Started(subprocess.Popen[str]):
    """A test that fails while it runs does not wait for its end, which may never come."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, error, trace)


@dataclass
class Shell:
    """Runs `shoal` in a process and a directory of its own, with a clean environment."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "shoal-data"

    @property
    def environment(self) -> dict[str, str]:
        """All that a command is told."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
        return {**clean, "HOME": str(self.folder), "COLUMNS": "80"}

    def start(self, *args: str, env: Mapping[str, str] = {}, **named: Any) -> subprocess.Popen[str]:
        return Started(
            [sys.executable, "-m", "shoal", *args],
            cwd=self.folder,
            env={**self.environment, **env},
            text=True,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **named},
        )

    def __call__(self, *args: str, input: str | None = None, **named: Any) -> Ran:
        stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
        with self.start(*args, stdin=stdin, **named) as process:
            out, err = process.communicate(input, timeout=TIMEOUT_S)
            return Ran(process.returncode, out, err)

    def crawl(self, *args: str, **named: Any) -> Ran:
        """A crawl of the practice site: quick, as it allows it."""
        ran = self("crawl", *args, "--allow-private", "--rate", "0", "--json", **named)
        assert_balanced(self, ran)
        return ran


class Here(Shell):
    """Runs it in this process, where a test is not about processes; what it starts has one of its own, as ever."""

    def __call__(self, *args: str, input: str | None = None, env: Mapping[str, str] = {}, **_: Any) -> Ran:
        return run_here(self.folder, {**self.environment, **env}, *args, input=input)

    def apart(self, *args: str, **named: Any) -> Ran:
        """In a process of its own, for what a process keeps until it ends."""
        return super().__call__(*args, **named)


def assert_balanced(shoal: Shell, ran: Ran) -> None:
    """found = queued + leased + pages + assets + redirects + dead + dropped, for the job that ran."""
    if not any(line.get("type") == "summary" for line in ran.lines):
        return
    (figures,) = shoal("job", ran.summary["job"], "--json").lines
    parts = (figures[name] for name in ("queued", "leased", "pages", "assets", "redirects", "dead"))
    assert figures["found"] == sum(parts) + sum(figures["dropped"].values())
    assert figures["leased"] == 0


@pytest.fixture
def shoal(tmp_path: Path) -> Shell:
    return Here(tmp_path)


@pytest.fixture(scope="session")
def small_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    log = tmp_path_factory.mktemp("shop") / "site.log"
    with running(Shop(hosts=1, categories=2, products=12, troubled=False), log=log) as site:
        yield site


@pytest.fixture
def site(small_shop: Running) -> Running:
    """A small shop without the page whose retries take 15 s; as if nobody had been there before."""
    small_shop.control(latency_ms=0, status=0)
    small_shop.log_path.write_bytes(b"")
    return small_shop


@pytest.fixture
def troubled_site(tmp_path: Path) -> Iterator[Running]:
    with running(Shop(hosts=1, categories=2, products=12), log=tmp_path / "site.log") as site:
        yield site
