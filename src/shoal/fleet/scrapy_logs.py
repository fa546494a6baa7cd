"""Removes old logs of Scrapy processes."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

KEEP_S = 14 * 86_400


def scrapy_logs(home: Path) -> Path:
    return home / "logs" / "scrapy"


def remove_old_logs(home: Path, unfinished: Collection[str]) -> None:
    """Except those of unfinished jobs, whose processes may say nothing for long."""
    before = time.time() - KEEP_S
    for log in scrapy_logs(home).glob("*-*.log*"):
        job = log.name.rpartition("-")[0]
        # It may be another user's, or gone: another worker of this home removes logs too.
        with suppress(OSError):
            if job not in unfinished and log.stat().st_mtime < before:
                log.unlink()
