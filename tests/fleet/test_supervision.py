"""A part of `shoal up`, looked after by itself."""

from __future__ import annotations

import time
from pathlib import Path

from shoal.fleet.supervision import Part


def test_a_part_whose_log_was_removed_is_looked_after_all_the_same(tmp_path: Path) -> None:
    part = Part("sleeper", ["sleep", "60"], {"PATH": "/usr/bin:/bin"}, tmp_path, lambda _: time.monotonic(), 1.0)
    part.start()
    try:
        part.log.unlink()
        assert part.look(60) is None and part.pid is not None
    finally:
        part.kill()


def ended(tmp_path: Path, script: str) -> str:
    """What is said of a part that ran this."""
    part = Part("worker", ["sh", "-c", script], {"PATH": "/usr/bin:/bin"}, tmp_path, lambda _: time.monotonic(), 1.0)
    part.start()
    deadline = time.monotonic() + 10
    while not (told := part.look(60)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return told


def test_what_ended_is_told_with_its_last_line(tmp_path: Path) -> None:
    told = ended(
        tmp_path, "echo Traceback; echo \"ModuleNotFoundError: No module named 'packaging'\" >&2; echo; exit 1"
    )
    assert "ended with code 1" in told and told.endswith(": ModuleNotFoundError: No module named 'packaging'")


def test_the_last_line_is_of_the_process_that_ended_and_an_event_in_words(tmp_path: Path) -> None:
    event = '{"at": "2026-11-15T12:00:00Z", "event": "library", "message": "the port is taken"}'
    assert ended(tmp_path, f"echo '{event}'; exit 1").endswith(": the port is taken")
    assert ended(tmp_path, "exit 3").endswith("worker.log has its last words")
