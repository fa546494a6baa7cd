"""Commands whose words or files go to a disk that is full."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal.practice import Running
from tests.cli.conftest import Here

FULL = Path("/dev/full")
ALLOWED = ("--allow-private", "--rate", "0")
TOLD = (5, "error: No space left on device: free some disk space first\n")

pytestmark = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


def written(shoal: Here) -> int:
    return len((shoal.folder / "pages.jsonl").read_text().splitlines())


def test_a_full_disk_under_stderr_does_not_stop_the_crawl(shoal: Here, site: Running) -> None:
    with FULL.open("w") as full:
        ran = shoal.apart("crawl", site.url(), *ALLOWED, "-o", "pages.jsonl", stderr=full)
    (job,) = shoal("jobs", "--json").lines
    assert (ran.code, job["state"]) == (0, "done")
    assert written(shoal) == job["pages"] > 1


def test_a_full_disk_under_json_progress_does_not_stop_the_crawl(shoal: Here, site: Running) -> None:
    # Slow enough that progress is told once, five seconds after it began.
    slow = ("--rate", "2", "--per-host", "1", "--max-seconds", "5.2")
    with FULL.open("w") as full:
        ran = shoal.apart("crawl", site.url(), "--allow-private", *slow, "-o", "pages.jsonl", "--json", stdout=full)
    (job,) = shoal("jobs", "--json").lines
    assert job["state"] == "limited"
    assert written(shoal) == job["pages"] > 1
    assert (ran.code, ran.err) == TOLD


def test_a_full_disk_under_stdout_is_reported(shoal: Here, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "3")
    (page, *_) = shoal("pages", "last", "--json").lines
    commands = ("jobs", "pages last --json", f"pages last --body {page['fingerprint']}", "export last --warc -o -")
    with FULL.open("w") as full:
        for command in commands:
            ran = shoal.apart(*command.split(), stdout=full)
            assert (ran.code, ran.err) == TOLD, command


def test_a_full_disk_under_the_output_file_loses_neither_report_nor_data(shoal: Here, site: Running) -> None:
    (shoal.folder / "pages.json.part").symlink_to(FULL)
    ran = shoal("crawl", site.url(), *ALLOWED, "-o", "pages.json")
    assert ran.code == 2 and "see also: " in ran.err
    *_, error = ran.err.splitlines()
    assert error.startswith("error: cannot write pages.json: No space left on device; nothing is lost: `shoal export ")
    assert shoal(*error.split("`")[1].split()[1:]).code == 0
    pages = json.loads((shoal.folder / "pages.json").read_text())
    assert len(pages) == shoal("jobs", "--json").lines[0]["pages"]


def test_an_output_that_fails_when_the_crawl_begins_is_written_when_it_ends(shoal: Here, site: Running) -> None:
    (shoal.folder / "pages.jsonl.part").symlink_to(FULL)
    ran = shoal("crawl", site.url(), *ALLOWED, "-o", "pages.jsonl")
    assert ran.code == 0 and "warning: cannot write pages.jsonl" in ran.err
    assert written(shoal) == shoal("jobs", "--json").lines[0]["pages"]
