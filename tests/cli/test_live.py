from __future__ import annotations

import io
import logging
import os
import pty
import re
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from shoal.cli.humanize import sparkline
from shoal.cli.progress_line import ProgressLine, ProgressMeter, waiting_note
from shoal.cli.session import Session
from shoal.cli.stdio import prints_to_stderr
from shoal.model import Figures
from shoal.practice import Running
from shoal.telemetry import set_up
from tests.cli.conftest import Here

BLOCKED = "waiting: 127.0.1.3:8800 is in backoff for 86390 s (retry-after)"
FIGURES = Figures(found=96, queued=6, pages=90)


def test_while_nothing_is_fetched_the_reason_fits_80_columns() -> None:
    meter = ProgressMeter("127.0.1.3:8800", items=12)
    meter.errors.update({"protocol": 35, "too_large": 12, "undecodable": 9})
    line = meter.line(FIGURES, BLOCKED)
    assert "90/96" in line[:79] and "is in backoff for 86390 s (retry" in line[:79]
    assert BLOCKED in line
    assert line.index("queue 6") < line.index("err 56 (protocol x35")


def test_while_pages_arrive_the_host_whose_rate_limits_the_job_fits_80_columns() -> None:
    meter = ProgressMeter("127.0.0.1:8000")
    meter.history.append((time.monotonic() - 9, 0, 1_000))
    figures = Figures(found=12_345, queued=12_222, pages=123)
    line = meter.line(figures, waiting_note("the rate limit of 127.0.0.1:8000"))
    assert line.startswith("127.0.0.1:8000 123/~12,345 0% 13.")
    assert " p/s  waiting: rate limit of 127.0.0.1:8000" in line[:79] and "  queue 12,222 ETA" in line


def test_the_rate_of_the_last_minutes_is_a_sparkline() -> None:
    assert sparkline([0, 1, 4, 7, 3.5]) == "▁▂▅█▅" and sparkline([0, 0]) == "▁▁" and sparkline([]) == ""
    meter = ProgressMeter("books", items=3, trend="▁▂▅█")
    assert meter.line(FIGURES).endswith("items 3 ▁▂▅█")


def test_the_kinds_of_errors_come_last() -> None:
    meter = ProgressMeter("127.0.1.3:8800")
    meter.errors.update({"protocol": 35, "too_large": 12, "undecodable": 9})
    meter.line(Figures(found=96, queued=96))
    line = meter.line(FIGURES)
    assert "queue 6" in line[:79] and "ETA" in line[:79]
    assert line.endswith("err 56 (protocol x35 too_large x12 undecodable x9)")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_ctrl_c_before_the_first_line_is_erased_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    line = ProgressLine(Session())
    terminal.write("^C")
    line.interrupt()
    assert terminal.getvalue() == "^C\r\x1b[2K"


def test_what_a_spider_prints_replaces_the_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    line = ProgressLine(Session())
    with prints_to_stderr():
        line.draw("9 pages ETA ~0.2s")
        print("printed", "by", "the spider")
        sys.stdout.close()
        print("twice")
        line.draw("10 pages")
        line.clear()
    shown = "\r\x1b[2K9 pages ETA ~0.2s\r\x1b[2Kprinted by the spider\ntwice\n\r\x1b[2K10 pages\r\x1b[2K"
    assert terminal.getvalue() == shown


def test_a_logged_event_replaces_the_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    ours = logging.getLogger("shoal")
    before = ours.handlers, ours.level, ours.propagate
    try:
        set_up(False)
        ours.warning("two\nlines")
    finally:
        ours.handlers, ours.propagate = before[0], before[2]
        ours.setLevel(before[1])
    assert terminal.getvalue() == "\r\x1b[2Kwarning: two lines\n"


def test_ctrl_c_leaves_no_residue_of_the_live_line(shoal: Here, site: Running) -> None:
    site.control(latency_ms=100)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "shoal", "crawl", site.url(), "--allow-private", "--per-host", "1"]
    process = subprocess.Popen(
        words, cwd=shoal.folder, env=shoal.environment, preexec_fn=lambda: os.login_tty(theirs), close_fds=False
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):
        while some := os.read(ours, 1000):
            shown += some
            if b"p/s queue" in shown and b"^C" not in shown:
                os.write(ours, b"\x03")
    os.close(ours)
    assert process.wait(timeout=60) == 130
    text = shown.decode()
    assert re.search(r"\^C\r\x1b\[2Kstopping: ", text), text
    summary = text[text.index("stopping: ") :]
    assert all("\r\x1b[2K" in line or "p/s queue" not in line for line in summary.split("\r\n")), text
