from __future__ import annotations

import os
import signal
import sys
from subprocess import DEVNULL, PIPE, Popen

from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.crawling import WITHIN_S, crawling


def test_watching_a_running_job_ends_with_its_summary(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site, "10") as crawl:
        ran = shoal("watch", crawl.job, "--json")
        assert crawl.ended().code == 0
    first, last = ran.lines[0], ran.lines[-1]
    assert ran.code == 0
    assert first["type"] == "progress" and first["job"] == crawl.job
    assert first["found"] >= first["queued"] > 0
    assert last["type"] == "summary" and last["state"] == "done"
    assert last["pages"] == crawl.figures()["pages"] > first["pages"]


def test_elsewhere_than_on_a_terminal_a_plain_line_comes_at_once(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site, "10") as crawl:
        ran = shoal("watch", "last")
        crawl.ended()
    first, last = ran.err.splitlines()[0], ran.err.splitlines()[-1]
    assert (ran.code, ran.out) == (0, "")
    assert " p/s" in first and "queue" in first and "\x1b" not in ran.err
    assert ": done, " in last or "also: " in last


def test_on_a_terminal_one_live_line_is_drawn_over_and_over(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site, "10") as crawl:
        drawn = _on_a_terminal(shoal, "watch", crawl.job)
        crawl.ended()
    assert drawn.count("\r\x1b[2K") > 2
    assert ": done, " in drawn.rpartition("\r\x1b[2K")[2], "the line is gone before the summary is said"


def test_ctrl_c_stops_the_watching_and_not_the_job(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site, "10") as crawl:
        with shoal.start("watch", crawl.job) as watching:
            assert watching.stderr
            watching.stderr.readline()
            watching.send_signal(signal.SIGINT)
            _, err = watching.communicate(timeout=WITHIN_S)
        assert watching.returncode == 0
        assert f"shoal watch {crawl.job}" in err and "Traceback" not in err
        assert crawl.ended().code == 0
    assert crawl.figures()["state"] == "done"


def test_an_interrupted_job_is_said_to_be_so_at_once(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site, "5") as crawl:
        crawl.kill()
        ran = shoal("watch", crawl.job)
    assert ran.code == 0
    assert "interrupted" in ran.err and f"resume: shoal resume {crawl.job}" in ran.err
    assert " p/s queue" not in ran.err


def test_a_job_that_has_ended_is_summed_up(shoal: Shell, site: Running) -> None:
    pages = shoal.crawl(site.url()).summary["pages"]
    ran = shoal("watch", "last")
    assert ran.code == 0
    assert f"done, {pages} pages of 1 host" in ran.err


def _on_a_terminal(shoal: Shell, *args: str) -> str:
    """What the command writes to stderr when that is a terminal."""
    ours, its = os.openpty()
    environment = {**os.environ, "HOME": str(shoal.folder), "COLUMNS": "80", "TERM": "xterm"}
    argv = [sys.executable, "-m", "shoal", *args]
    with Popen(argv, cwd=shoal.folder, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=its):
        os.close(its)
        written = b""
        try:
            while part := os.read(ours, 4096):
                written += part
        except OSError:
            # Linux says so when the other end has closed.
            pass
        os.close(ours)
    return written.decode()
