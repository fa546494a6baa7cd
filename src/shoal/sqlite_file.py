"""What the two databases in SQLite files, store and frontier, share when they open a file."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from urllib.parse import quote

_RETRY_EVERY_S = 0.02


def read_only_uri(path: Path) -> str | None:
    """The URI of a file that this process may only read, such as a backup or another user's home.

    Returns None if the file is writable or does not exist yet.
    """
    if not os.access(path, os.F_OK) or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return None
    # With a write-ahead log, another process may be writing. Without one, SQLite would try to create the log and its
    # index unless it knows that the file does not change.
    how = "mode=ro" if os.access(f"{path}-wal", os.F_OK) else "immutable=1"
    return f"file:{quote(str(path))}?{how}"


def use_write_ahead_log(db: sqlite3.Connection, busy_timeout_s: float) -> None:
    """Turns the log on, and waits for other processes that are creating the same file."""
    deadline = time.monotonic() + busy_timeout_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # The busy timeout does not apply while another process holds the write lock of a file without a log.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_EVERY_S)
        else:
            db.execute("PRAGMA synchronous = NORMAL")
            return
