"""Homes that may only be read, may not be looked into, are no folders, or are open to others."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from shoal.practice import Running
from tests.cli.conftest import Here, Ran
from tests.cli.crawling import crawling
from tests.cli.one_after_another import one_after_another

OBEDIENT = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
"""Root heeds the modes of files only if these are taken from it."""

pytestmark = pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root needs setpriv")


def obediently(shoal: Here, home: str, *commands: str) -> list[Ran]:
    before = OBEDIENT if os.geteuid() == 0 else ()
    asked = [f"--home {home} {command}" for command in commands]
    return one_after_another(shoal.folder, shoal.environment, asked, before)


def copied(home: Path, name: str) -> Path:
    """A copy of the home in which nothing can be written."""
    copy = shutil.copytree(home, home.parent / name)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    return copy


def test_a_read_only_home_can_be_read_but_not_crawled_into(shoal: Here, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "3")
    home = str(copied(shoal.home, "read-only"))
    reading = ("jobs", "job last", "pages last", "pages last --json", "hosts --all", "export last -o -")
    writing = ("token add x --scope read", f"hosts {site.url().split('/')[2]} --pause")
    *read, crawl, token, pause = obediently(shoal, home, *reading, f"crawl {site.url()}", *writing)
    for command, ran in zip(reading, read, strict=True):
        told = ran.out.replace(f"--home {home} ", "")
        assert (ran.code, told) == (0, shoal(*command.split()).out), (command, ran.err)
    assert (crawl.code, crawl.err) == (
        2,
        f"error: {home} cannot be used as a home: Permission denied; choose another with --home\n",
    )
    for ran in (token, pause):
        assert ran.code == 2 and "attempt to write a readonly database" in ran.err


def test_a_killed_crawl_can_be_read_in_a_read_only_home(shoal: Here, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        crawl.kill()
    assert (shoal.home / "shoal.db-wal").stat().st_size
    home = str(copied(shoal.home, "read-only"))
    looked, ran = obediently(shoal, home, "jobs --json", "resume last")
    assert (looked.code, looked.lines[0]["pages"]) == (0, shoal("jobs", "--json").lines[0]["pages"])
    assert ran.code == 2 and ran.err.startswith(f"error: {home} cannot be used as a home: ")


def test_an_unreadable_home_is_reported(shoal: Here) -> None:
    (shoal.folder / "closed").mkdir(mode=0)
    for ran in obediently(shoal, "closed", "jobs", "job last", "crawl http://127.0.0.1:9/"):
        assert ran.code == 2 and "closed cannot be used as a home: Permission denied" in ran.err


@pytest.mark.parametrize("command", ["jobs", "job last", "crawl http://127.0.0.1:9/"])
def test_a_file_as_home_is_an_error(shoal: Here, command: str) -> None:
    (shoal.folder / "file").touch()
    ran = shoal("--home", "file", *command.split())
    assert ran.code == 2 and "file cannot be used as a home: " in ran.err


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_home_that_others_can_enter_is_closed_to_them(shoal: Here, site: Running) -> None:
    shoal.home.mkdir(mode=0o755)
    shoal.home.chmod(0o755)
    ran = shoal.crawl(site.url(), "--max-pages", "1")
    assert mode(shoal.home) == 0o700 and "chmod" not in ran.err
    shoal.home.chmod(0o775)
    assert shoal("jobs").err == "" and mode(shoal.home) == 0o700
    # Somebody has decided that its group may.
    shoal.home.chmod(0o750)
    assert shoal("jobs").err == "" and mode(shoal.home) == 0o750


def test_a_home_with_other_things_in_it_stays_open_and_a_warning_says_how_to_close_it(
    shoal: Here, site: Running
) -> None:
    shoal.home.mkdir()
    (shoal.home / "site.html").touch()
    shoal.home.chmod(0o755)
    shoal.crawl(site.url(), "--max-pages", "1")
    ran = shoal.apart("jobs")
    assert ran.err.count(f"chmod 700 {shoal.home}") == 1 and mode(shoal.home) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_a_home_of_another_user_is_not_changed_and_warned_about(shoal: Here, site: Running) -> None:
    shoal.home.mkdir()
    shoal.home.chmod(0o755)
    os.chown(shoal.home, 12_345, -1)
    shoal.crawl(site.url(), "--max-pages", "1")
    ran = shoal.apart("jobs")
    assert f"chmod 700 {shoal.home}" in ran.err and mode(shoal.home) == 0o755
