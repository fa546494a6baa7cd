"""Unpacks uploaded Scrapy projects on a worker, each into a folder named after its digest."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

KEEP_S = 86_400.0
"""A process that starts touches its folder. Another worker of this home may use what this one does not."""


def package_folders(home: Path) -> Path:
    return home / "scrapy"


def remove_old_packages(home: Path, used: Collection[str | None]) -> None:
    before = time.time() - KEEP_S
    for folder in package_folders(home).glob("*"):
        # It may be gone: another worker of this home removes folders too.
        with suppress(OSError):
            if folder.name not in used and folder.stat().st_mtime < before:
                shutil.rmtree(folder)
