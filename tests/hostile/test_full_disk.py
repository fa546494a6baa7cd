"""A disk that fills up in the middle of a crawl: it waits, says so, and goes on when there is room."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shoal.practice import Running, Shop, running
from tests.cli.conftest import Ran, Shell, assert_balanced
from tests.cli.crawling import WITHIN_S, until

SHOP = Shop(hosts=1, categories=4, products=60, troubled=False)
DISK_BYTES = 24_000_000


@dataclass
class Disk:
    path: Path

    def fill(self) -> None:
        with (self.path / "ballast").open("ab", buffering=0) as file:
            for size in (1_000_000, 4_096, 1):
                self._append(file, size)

    def _append(self, file: Any, size: int) -> None:
        try:
            while True:
                file.write(bytes(size))
        except OSError:
            return

    def empty(self) -> None:
        (self.path / "ballast").unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a disk to fill up takes leave to mount one (root)")
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", str(path)], check=True)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Running]:
    with running(SHOP, log=tmp_path / "site.log") as site:
        yield site


@contextmanager
def waiting_crawl(shoal: Shell, site: Running, disk: Disk) -> Iterator[subprocess.Popen[str]]:
    """One that has found the disk full, and says so."""
    asked = ("--allow-private", "--rate", "15", "--json", "--home", str(disk.path / "home"))
    with shoal.start("crawl", site.url(), *asked) as process:
        try:
            until(lambda: len(site.log()) > 10)
            disk.fill()
            assert process.stdout
            lines = (json.loads(line) for line in process.stdout)
            told = next(line["waiting"] for line in lines if "waiting" in line)
            assert told.startswith(f"disk full at {disk.path / 'home'}") and told.endswith(", 16 MB needed")
            yield process
        finally:
            process.kill()


def ended(shoal: Shell, ran: Ran, disk: Disk, site: Running) -> None:
    """All pages, each once, and two sound databases."""
    shoal = Homed(shoal.folder, disk.path / "home")
    assert_balanced(shoal, ran)
    assert (ran.code, ran.summary["state"], ran.summary["dead"]) == (0, "done", 0)
    truth = SHOP.truth()[site.addresses[0]]
    assert ran.summary["by_status"]["200"] == sum(status == 200 for status in truth.pages.values())
    for name in ("shoal.db", "frontier.db"):
        with sqlite3.connect(disk.path / "home" / name) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()


class Homed(Shell):
    """With a home that is not the usual one."""

    def __init__(self, folder: Path, home: Path) -> None:
        super().__init__(folder)
        self.place = home

    def start(self, *args: str, **named: Any) -> subprocess.Popen[str]:
        return super().start(*args, "--home", str(self.place), **named)


def test_a_crawl_waits_for_room_and_goes_on(disk: Disk, site: Running, tmp_path: Path) -> None:
    shoal = Shell(tmp_path)
    with waiting_crawl(shoal, site, disk) as process:
        disk.empty()
        out, err = process.communicate(timeout=2 * WITHIN_S)
    assert "Traceback" not in err
    ended(shoal, Ran(process.returncode, out, err), disk, site)


def test_other_terminals_are_told_of_the_full_disk_until_there_is_room(
    disk: Disk, site: Running, tmp_path: Path
) -> None:
    shoal = Homed(tmp_path, disk.path / "home")
    with waiting_crawl(Shell(tmp_path), site, disk) as process:
        # By the crawl's word a moment later than its own line.
        until(lambda: shoal("jobs", "--json").lines[0]["state"] == "waiting")
        # There, or in a folder of it: whatever had to be written first.
        assert f"waits for   disk full at {disk.path / 'home'}" in shoal("job", "last").out
        assert " waiting " in shoal("jobs").out
        disk.empty()
        until(lambda: shoal("job", "last", "--json").lines[0]["state"] in ("running", "done"))
        process.communicate(timeout=2 * WITHIN_S)
    assert "disk full" not in shoal("job", "last").out


def test_a_crawl_stopped_with_a_full_disk_can_be_resumed(disk: Disk, site: Running, tmp_path: Path) -> None:
    shoal = Shell(tmp_path)
    with waiting_crawl(shoal, site, disk) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    job = json.loads(out.splitlines()[-1])["job"]
    disk.empty()
    ran = Homed(tmp_path, disk.path / "home")("resume", job, "--json")
    assert "Traceback" not in ran.err
    ended(shoal, ran, disk, site)
