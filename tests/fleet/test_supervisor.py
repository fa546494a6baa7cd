"""A part of `shoal up`, looked after by itself."""

from __future__ import annotations

import time
from pathlib import Path

from shoal.fleet.supervisor import SupervisedProcess


def test_a_process_whose_log_was_removed_is_still_supervised(tmp_path: Path) -> None:
    part = SupervisedProcess(
        "sleeper", ["sleep", "60"], {"PATH": "/usr/bin:/bin"}, tmp_path, lambda _: time.monotonic(), 1.0
    )
    part.start()
    try:
        part.log.unlink()
        assert part.look(60) is None and part.pid is not None
    finally:
        part.kill()


def running(tmp_path: Path, script: str) -> SupervisedProcess:
    part = SupervisedProcess(
        "worker", ["sh", "-c", script], {"PATH": "/usr/bin:/bin"}, tmp_path, lambda _: time.monotonic(), 1.0
    )
    part.start()
    return part


def told(part: SupervisedProcess) -> str:
    deadline = time.monotonic() + 120
    while not (words := part.look(60)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return words


def ended(tmp_path: Path, script: str) -> str:
    """What is said of a part that ran this."""
    return told(running(tmp_path, script))


def test_an_exit_is_reported_with_the_last_log_line(tmp_path: Path) -> None:
    words = ended(
        tmp_path, "echo Traceback; echo \"ModuleNotFoundError: No module named 'packaging'\" >&2; echo; exit 1"
    )
    assert "exited with code 1" in words and words.endswith(": ModuleNotFoundError: No module named 'packaging'")


def test_the_last_line_comes_from_the_ended_process_as_text(tmp_path: Path) -> None:
    event = '{"at": "2026-11-15T12:00:00Z", "event": "library", "message": "the port is taken"}'
    assert ended(tmp_path, f"echo '{event}'; exit 1").endswith(": the port is taken")
    assert ended(tmp_path, "exit 3").endswith("worker.log")


def test_the_last_line_before_a_kill_is_not_reported_as_its_reason(tmp_path: Path) -> None:
    assert ended(tmp_path, "echo all is well; kill -9 $$").endswith("worker.log")


def test_a_killed_process_is_restarted_although_its_child_survived(tmp_path: Path) -> None:
    """That one holds the lock, as the API's processes do for a second when their master is killed."""
    part = running(tmp_path, "sleep 600 & kill -9 $$")
    assert "was killed by SIGKILL" in told(part)
    try:
        assert "worker is restarted" in told(part)
    finally:
        part.kill()


def test_a_process_that_cannot_be_started_is_reported_and_retried(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.symlink_to("/bin/true")
    part = SupervisedProcess("worker", [str(program)], {}, tmp_path, lambda _: time.monotonic(), 1.0)
    part.start()
    assert "exited with code 0" in told(part)
    program.unlink()
    assert "worker could not be started: [Errno 2]" in told(part)
    program.symlink_to("/bin/true")
    assert "worker is restarted" in told(part)
    part.kill()
