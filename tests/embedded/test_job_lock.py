"""One process crawls a job at a time, and others are told which and what it waits for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.embedded.job_lock import MAX_REPORT_CHARS, JobLock, LockHolder, crawled_jobs
from shoal.errors import Unavailable

HELD_ELSEWHERE = """
import sys
from pathlib import Path
from shoal.embedded.job_lock import JobLock

with JobLock(Path(sys.argv[1]), "one").held():
    print("held", flush=True)
    sys.stdin.read()
"""
HERE = LockHolder(os.getpid())


@pytest.fixture
def other(tmp_path: Path) -> JobLock:
    """As another process would look at it."""
    return JobLock(tmp_path, "one")


@pytest.fixture
def lock(tmp_path: Path) -> JobLock:
    return JobLock(tmp_path, "one")


def test_nobody_holds_a_lock_that_was_never_made_or_was_let_go(lock: JobLock, other: JobLock) -> None:
    assert other.holder() is None
    with lock.held():
        assert other.holder() == HERE
    assert other.holder() is None


def test_a_second_process_is_told_of_the_first_and_gets_the_lock_when_that_is_killed(
    tmp_path: Path, lock: JobLock
) -> None:
    command = [sys.executable, "-c", HELD_ELSEWHERE, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "held\n"
        with pytest.raises(Unavailable, match=f"job one is running in process {first.pid}"), lock.held():
            pass
        with lock.tried() as is_held:
            assert not is_held
        with JobLock(tmp_path, "two").held():
            assert crawled_jobs(tmp_path) == ["one", "two"]
        first.kill()
    with lock.held():
        assert JobLock(tmp_path, "one").holder() == HERE


def test_what_its_holder_waits_for_is_told_to_others_until_it_is_over(lock: JobLock, other: JobLock) -> None:
    lock.report("nobody holds it yet")
    with lock.held():
        lock.report("disk full", "https://a.example/ is read")
        assert other.holder() == LockHolder(os.getpid(), "disk full", "https://a.example/ is read")
        lock.report("x" * 10 * MAX_REPORT_CHARS)
        assert other.holder() == LockHolder(os.getpid(), "x" * MAX_REPORT_CHARS)
        lock.report(None)
        assert other.holder() == HERE


def test_its_holder_may_take_it_again(lock: JobLock, other: JobLock) -> None:
    with lock.held():
        with lock.held():
            pass
        assert other.holder() is not None


def test_a_job_that_never_began_leaves_no_file_and_one_that_began_does(tmp_path: Path, lock: JobLock) -> None:
    with pytest.raises(ValueError, match="bad list"), lock.held():
        raise ValueError("bad list")
    assert not list(tmp_path.rglob("one*"))
    with lock.held():
        lock.keep_when_released()
    with lock.held():
        pass
    assert list(tmp_path.rglob("one.lock"))


def test_a_file_that_the_last_holder_removed_locks_nobody_out(tmp_path: Path, lock: JobLock, other: JobLock) -> None:
    with lock.held():
        lock.remove_when_released()
    assert list(tmp_path.rglob("one*")) == []
    with lock.held(), other.tried() as is_held:
        assert not is_held
