"""`shoal top` and `shoal workers`: the state of jobs and processes at a glance, with keys on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from shoal.cli.backends import ListedJob
from shoal.cli.fleet_lines import LANE_HEADER, host_lines, lane_lines
from shoal.cli.session import Session
from shoal.cli.top_view import NOTE_S, TopView
from shoal.model import Figures, JobSpec, JobState, Lane
from shoal.practice import Running
from shoal.store.jobs import create_job
from tests.cli.conftest import Shell
from tests.cli.crawling import WITHIN_S, crawling


def test_without_a_terminal_the_screen_is_printed_once(shoal: Shell, site: Running) -> None:
    job = shoal.crawl(site.url(), "--max-pages", "3", "--name", "few").summary["job"]
    ran = shoal("top")
    heading, header, row, *_ = ran.out.splitlines()
    assert ran.code == 0 and heading == "shoal top: 0 unfinished, 0.0 pages/s, order: newest"
    assert header.split() == ["id", "state", "pages", "p/s", "queued", "dead", "name"]
    assert row.split()[:4] == [">", job, "limited", "3"] and row.endswith("few")
    assert max(map(len, ran.out.splitlines())) <= 80 and "quit" not in ran.out


def test_lanes_and_hosts_are_counted_and_the_host_blocked_longest_comes_first() -> None:
    worker = {"lanes": [Lane.EXPRESS, Lane.BATCH], "lane": Lane.BATCH}
    running = ListedJob("j1", "a", JobState.RUNNING, Figures(found=7, queued=5, leased=2), 0.0, Lane.BATCH)
    ended = ListedJob("j2", "b", JobState.DONE, Figures(), 0.0, Lane.SLOW)
    header, *rows = [line.split() for line in lane_lines([worker], [running, ended], 80)]
    assert header == list(LANE_HEADER)
    assert rows == [["express", "1", "0", "0", "0"], ["batch", "1", "1", "1", "7"], ["slow", "0", "0", "0", "0"]]

    def host(name: str, **held: Any) -> dict[str, Any]:
        free = {"block_until": None, "block_reason": None, "paused": False, "slowdown": 1.0, "in_flight": 0}
        return {"host": name, **free, **held}

    blocked = {"block_until": "2999-01-01T00:00:00Z", "block_reason": "retry-after"}
    hosts = [host("fine"), host("paused", paused=True), host("slow", slowdown=4.0), host("blocked", **blocked)]
    _, first, second, more = host_lines(hosts, 2, 80)
    assert first.startswith("blocked ") and first.endswith(": retry-after")
    assert second.split() == ["slow", "0", "slowed", "down", "4.0", "times"]
    assert more == "and 1 host more: shoal hosts"
    assert host_lines(hosts[:1], 2, 80) == []


def test_the_selected_job_stays_selected_while_others_come(tmp_path: Path) -> None:
    now = 0.0
    with Session(str(tmp_path)) as session, session.open_home() as home, session.open_jobs() as jobs:
        for n in range(40):
            create_job(home.store, f"job{n:08}", lambda n=n: JobSpec(f"site-{n}"), [], n)  # type: ignore[misc]
        view = TopView(session, jobs, lambda: now)
        view.read(print)
        for _ in range(30):
            view.press("j")
        assert selected(view) == "site-9"
        create_job(home.store, "job-new", lambda: JobSpec("new"), [], 100.0)
        view.read(print)
        assert selected(view) == "site-9"
        view.press("p")
        assert view.screen(80, 12)[-1] == "continue it with `shoal resume job00000009`"
        now += NOTE_S
        assert "q quit" in view.screen(80, 12)[-1]


def selected(view: TopView) -> str:
    """The name in the marked row of a small screen, which does not have room for all jobs."""
    (row,) = (line for line in view.screen(80, 12) if line.startswith(">"))
    return row.split()[-1]


def test_a_home_has_no_workers_and_says_so(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    ran = shoal("workers")
    assert ran.code == 2 and "has no fleet" in ran.err and "shoal up" in ran.err


def test_on_a_terminal_keys_pause_a_job_and_quit(shoal: Shell, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        control, terminal = pty.openpty()
        command = [sys.executable, "-m", "shoal", "top"]
        env = {**os.environ, "SHOAL_HOME": str(shoal.home), "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
        with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=env) as process:
            os.close(terminal)
            read_until(control, "running")
            os.write(control, b"\r")
            read_until(control, "politeness")
            os.write(control, b" ")
            read_until(control, "queued  dead")
            os.write(control, b"p")
            read_until(control, "paused")
            os.write(control, b"q")
            left = read_until(control, "\x1b[?1049l")
            assert process.wait(WITHIN_S) == 0
        os.close(control)
        assert crawl.figures()["state"] == "paused" and "Traceback" not in left
        shoal("resume", crawl.job)


def read_until(terminal: int, words: str) -> str:
    text, deadline = "", time.monotonic() + WITHIN_S
    while words not in text:
        assert time.monotonic() < deadline, f"{words!r} is not in {text[-2000:]!r}"
        if select.select([terminal], [], [], 1.0)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
    return text
