"""What a managed process reads in the database of its fleet: the spec of its job, and a project that was uploaded.

While the database is away, the process waits: only its worker ends it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from shoal.errors import Unavailable, UsageError
from shoal.model import JobSpec
from shoal.scrapy.uploaded_project import unpack
from shoal.store.fleet.scrapy_projects import package_content
from shoal.store.jobs import load_job
from shoal.store.store import Store

TRY_AGAIN_S = 1.0
T = TypeVar("T")


def database_of(settings: Mapping[str, str]) -> str | Path:
    return settings.get("database_url") or Path(settings["home"]) / "shoal.db"


def stored_spec(job: str, database: str | Path, parent: int) -> JobSpec:
    """Raises UsageError."""
    spec = _read(database, parent, lambda store: load_job(store, job).spec)
    if spec.scrapy_run is None or spec.scrapy is None:
        raise UsageError(f"job {job} is not one of a Scrapy project that workers run")
    return spec


def fetched(digest: str, database: str | Path, folders: Path, parent: int) -> Path:
    """The folder of a package, which is fetched unless a process of this home has done so. Raises UsageError."""
    folder = folders / digest
    if not folder.is_dir():
        content = _read(database, parent, lambda store: package_content(store, digest))
        if content is None:
            raise UsageError("the package of this version is gone: it was deleted; upload and schedule it again")
        folders.mkdir(parents=True, exist_ok=True, mode=0o700)
        _install(content, folder)
    # A worker removes folders that nobody has used for long.
    os.utime(folder)
    return folder


def _read(database: str | Path, parent: int, read: Callable[[Store], T]) -> T:
    while True:
        try:
            with Store.open(database) as store:
                return read(store)
        except Unavailable:
            if os.getppid() != parent:
                raise
            time.sleep(TRY_AGAIN_S)


def _install(content: bytes, folder: Path) -> None:
    """Whole or not at all: another process may do the same."""
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        unpack(BytesIO(content), draft)
        with suppress(OSError):
            # Another process was first.
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
