from __future__ import annotations

import os
import pty
import re
import signal
from pathlib import Path

from shoal.practice import Running
from tests.cli.conftest import Shell


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_job_is_deleted_with_its_rows_its_queue_and_its_archive(shoal: Shell, site: Running) -> None:
    kept = shoal.crawl(site.url(), "--max-pages", "2", "--name", "kept").summary["job"]
    gone = shoal.crawl(site.url(), "--max-pages", "3", "--name", "gone").summary["job"]
    assert files(shoal.home / "archive" / gone)
    ran = shoal("delete", "gone", "--yes")
    assert ran.code == 0
    assert re.fullmatch(
        rf"job {gone} \(gone\) is deleted, with 3 pages, [\d.]+ kB of archive, [\d.]+ kB of database\n", ran.err
    )
    assert [job["id"] for job in shoal("jobs", "--json").lines] == [kept]
    assert not (shoal.home / "archive" / gone).exists() and files(shoal.home / "archive" / kept)
    assert "there is no job" in shoal("pages", gone).err
    assert len(shoal("pages", kept, "--json").lines) == 2
    assert shoal("resume", kept, "--max-pages", "4", "--json").summary["pages"] == 4


def test_without_a_terminal_it_shows_the_jobs_and_demands_yes(shoal: Shell, site: Running) -> None:
    job = shoal.crawl(site.url(), "--max-pages", "2").summary["job"]
    ran = shoal("delete", "last", job)
    assert ran.code == 2 and "--yes" in ran.err
    assert re.search(rf"job {job}: .*, limited, 2 pages, [\d.]+ kB of archive, [\d.]+ kB of database\n", ran.err)
    assert ran.err.count(job) == 1, "two names of one job are one job"
    assert len(shoal("jobs", "--json").lines) == 1


def test_on_a_terminal_no_is_the_default(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    for answer, code, left in (("\n", 1, 1), ("y\n", 0, 0)):
        ours, theirs = pty.openpty()
        os.write(ours, answer.encode())
        with Shell(shoal.folder).start("delete", "last", stdin=theirs) as process:
            assert "delete 1 job for good?" in process.communicate(timeout=60)[1]
        os.close(ours)
        os.close(theirs)
        assert (process.returncode, len(shoal("jobs", "--json").lines)) == (code, left)


def test_an_interrupted_job_is_deleted_but_not_a_running_one(shoal: Shell, site: Running) -> None:
    site.control(latency_ms=200)
    with Shell(shoal.folder).start("crawl", site.url(), "--allow-private", "--per-host", "1") as process:
        assert process.stderr is not None
        job = re.findall(r"job (\w+):", process.stderr.readline())[0]
        refused = shoal("delete", job, "--yes")
        assert refused.code == 2 and f"shoal cancel {job}" in refused.err
        process.send_signal(signal.SIGKILL)
    assert shoal("delete", job, "--yes").code == 0
    assert shoal("jobs", "--json").lines == []
    assert files(shoal.home / "spool") == [] and not (shoal.home / "archive" / job).exists()


def test_by_age_only_jobs_that_ended_so_long_ago(shoal: Shell, site: Running) -> None:
    job = shoal.crawl(site.url(), "--max-pages", "1").summary["job"]
    ran = shoal("delete", "--older", "1d", "--yes")
    assert (ran.code, ran.err) == (0, "no job ended so long ago: nothing is deleted\n")
    [deleted] = shoal("delete", "--older", "0.001s", "--yes", "--json").lines
    assert (deleted["deleted"], deleted["pages"] > 0, deleted["archive_bytes"] > 0) == (job, True, True)
    assert shoal("delete").code == 2
