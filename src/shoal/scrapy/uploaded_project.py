"""Unpacks a Scrapy project that was uploaded, and makes this process run it. Only processes of their own do so.

It is an egg or a wheel with the entry point `settings` in the group `scrapy`, as scrapyd-deploy makes them.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from configparser import ConfigParser
from configparser import Error as BadConfig
from contextlib import suppress
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile
from zlib import error as BadDeflate

from shoal.errors import Unavailable, UsageError
from shoal.store.fleet.scrapy_projects import package_content
from shoal.store.store import Store

FILES, BYTES = 20_000, 512 << 20
"""The limits of an unpacked project. A zip file of a few kilobytes can hold gigabytes of zeros."""
TRY_AGAIN_S = 1.0
_ENTRY_POINTS = ("EGG-INFO/entry_points.txt", "*.dist-info/entry_points.txt", "*.egg-info/entry_points.txt")
_BUILT_APART = ("*.data/purelib", "*.data/platlib")
"""Folders of a wheel that an installer would move to the top."""


def unpack(package: Path | IO[bytes], folder: Path) -> None:
    """Raises UsageError."""
    try:
        with ZipFile(package) as archive:
            # Reading stops at these sizes, even if the file lies about them.
            sizes = [member.file_size for member in archive.infolist()]
            if len(sizes) > FILES or sum(sizes) > BYTES:
                raise UsageError(f"the project has more than {FILES:,} files, or more than {BYTES >> 20} MB unpacked")
            # It makes `..` and absolute names harmless, and links plain files.
            archive.extractall(folder)
    except (BadZipFile, BadDeflate, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise UsageError(f"the project cannot be unpacked: {error}") from error


def use(folder: Path) -> None:
    """Imports of this process find the project from now on. Raises UsageError."""
    module = settings_module(folder)
    apart = [str(path) for pattern in _BUILT_APART for path in folder.glob(pattern)]
    sys.path[:0] = [str(folder), *apart]
    os.environ["SCRAPY_SETTINGS_MODULE"] = module
    os.chdir(folder)


def settings_module(folder: Path) -> str:
    """Raises UsageError."""
    for path in (path for pattern in _ENTRY_POINTS for path in sorted(folder.glob(pattern))):
        config = ConfigParser(delimiters=("=",), interpolation=None, strict=False)
        with suppress(BadConfig, UnicodeDecodeError):
            config.read_string(path.read_text("utf-8"))
            if module := config.get("scrapy", "settings", fallback="").strip():
                return module
    raise UsageError(
        "the project has no entry point 'settings' in the group 'scrapy': make it with scrapyd-deploy, or add "
        "entry_points={'scrapy': ['settings = PROJECT.settings']} to its setup.py"
    )


def fetched(digest: str, database: str | Path, folders: Path, parent: int) -> Path:
    """The folder of a package, which is fetched from the database if no process of this home has done so. While the
    database is away, it tries again until the parent is gone. Raises UsageError."""
    folder = folders / digest
    while not folder.is_dir():
        try:
            with Store.open(database) as store:
                content = package_content(store, digest)
            if content is None:
                raise UsageError("the package of this version is gone: it was deleted; upload and schedule it again")
            _install(content, folder)
        except Unavailable:
            if os.getppid() != parent:
                raise
            time.sleep(TRY_AGAIN_S)
    # A worker removes folders that nobody has used for long.
    os.utime(folder)
    return folder


def _install(content: bytes, folder: Path) -> None:
    """Whole or not at all: another process may do the same."""
    from io import BytesIO

    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        unpack(BytesIO(content), draft)
        with suppress(OSError):
            # Another process was first.
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
