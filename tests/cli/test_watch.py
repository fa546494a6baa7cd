from __future__ import annotations

import json
import os
import signal
import sys
from subprocess import DEVNULL, Popen

from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.crawling import WITHIN_S, Crawling, crawling

OVER = "\r\x1b[2K"


def test_watching_a_running_job_ends_with_its_summary(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl, shoal.start("watch", crawl.job, "--json") as watching:
        assert watching.stdout
        first = json.loads(watching.stdout.readline())
        crawl.hurry()
        out, _ = watching.communicate(timeout=WITHIN_S)
        assert crawl.ended().code == 0
    last = json.loads(out.splitlines()[-1])
    assert watching.returncode == 0
    assert first["type"] == "progress" and first["job"] == crawl.job
    assert first["found"] >= first["queued"] > 0
    assert last["type"] == "summary" and last["state"] == "done"
    assert last["pages"] == crawl.figures()["pages"] > first["pages"]


def test_elsewhere_than_on_a_terminal_a_plain_line_comes_at_once(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl, shoal.start("watch", "last") as watching:
        assert watching.stderr
        assert watching.stderr.readline() == f"job {crawl.job} runs in process {crawl.process.pid}\n"
        first = watching.stderr.readline()
        crawl.hurry()
        out, err = watching.communicate(timeout=WITHIN_S)
    assert (watching.returncode, out) == (0, "")
    assert " p/s" in first and "queue" in first
    assert ": done, " in err and "\x1b" not in first + err


def test_on_a_terminal_one_live_line_is_drawn_over_and_over(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        drawn = _watched_on_a_terminal(shoal, crawl)
    assert drawn.count(OVER) > 2
    assert "p/s" in drawn.split(OVER)[1]
    assert ": done, " in drawn.rpartition(OVER)[2], "the line is gone before the summary is said"


def test_ctrl_c_stops_the_watching_and_not_the_job(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        with shoal.start("watch", crawl.job) as watching:
            assert watching.stderr
            watching.stderr.readline()
            watching.send_signal(signal.SIGINT)
            _, err = watching.communicate(timeout=WITHIN_S)
        assert watching.returncode == 0, err
        assert f"shoal watch {crawl.job}" in err and "Traceback" not in err
        assert crawl.figures()["state"] == "running"


def test_an_interrupted_job_is_said_to_be_so_at_once(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
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


def test_a_job_that_has_ended_early_says_why(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "2")
    ran = shoal("watch", "last")
    assert ran.code == 0
    assert "its limit of pages is reached" in ran.err and "continue with: shoal resume" in ran.err


def _watched_on_a_terminal(shoal: Shell, crawl: Crawling) -> str:
    """What `watch` writes to stderr when that is a terminal; the job is hurried once the line was drawn thrice."""
    ours, its = os.openpty()
    environment = {**os.environ, "HOME": str(shoal.folder), "COLUMNS": "80", "TERM": "xterm"}
    argv = [sys.executable, "-m", "shoal", "watch", crawl.job]
    written = ""
    with Popen(argv, cwd=shoal.folder, env=environment, stdin=DEVNULL, stderr=its):
        os.close(its)
        while part := _read(ours):
            if written.count(OVER) < 3 <= (written + part).count(OVER):
                crawl.hurry()
            written += part
    os.close(ours)
    return written


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 4096).decode()
    except OSError:
        # So Linux says that the other end has closed.
        return ""
