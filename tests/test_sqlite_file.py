"""How the store and the frontier open their SQLite files while other processes open them too."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shoal.frontier.sqlite.schema import open_database
from shoal.sqlite_file import use_write_ahead_log
from shoal.store.store import Store


@pytest.fixture
def creator(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another process that creates the file: it holds the write lock, and the file has no log yet."""
    with closing(sqlite3.connect(tmp_path / "file.db", isolation_level=None, check_same_thread=False)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield db


def test_opening_waits_for_a_process_that_creates_the_file(tmp_path: Path, creator: sqlite3.Connection) -> None:
    release = threading.Timer(0.3, creator.execute, ["COMMIT"])
    release.start()
    with closing(sqlite3.connect(tmp_path / "file.db", isolation_level=None)) as db:
        use_write_ahead_log(db, busy_timeout_s=60)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    release.join()


def test_opening_gives_up_when_the_lock_is_never_released(tmp_path: Path, creator: sqlite3.Connection) -> None:
    with (
        closing(sqlite3.connect(tmp_path / "file.db", isolation_level=None, timeout=0)) as db,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        use_write_ahead_log(db, busy_timeout_s=0.1)


def open_store(path: Path) -> None:
    Store.open(path).close()


def open_frontier(path: Path) -> None:
    open_database(path).close()


@pytest.mark.parametrize("open_file", [open_store, open_frontier])
def test_many_may_open_a_new_file_at_once(tmp_path: Path, open_file: Callable[[Path], None]) -> None:
    for attempt in range(5):
        path, failures = tmp_path / f"{attempt}.db", list[Exception]()
        start = threading.Barrier(4)

        def opening(path: Path = path, failures: list[Exception] = failures, start: threading.Barrier = start) -> None:
            start.wait()
            try:
                open_file(path)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=opening) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
