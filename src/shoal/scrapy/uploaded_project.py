"""Unpacks a Scrapy project that was uploaded, and makes this process run it. Only processes of their own do so.

It is an egg or a wheel with the entry point `settings` in the group `scrapy`, as scrapyd-deploy makes them.
"""

from __future__ import annotations

import os
import sys
from configparser import ConfigParser
from configparser import Error as BadConfig
from contextlib import suppress
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile
from zlib import error as BadDeflate

from shoal.errors import UsageError

FILES, BYTES = 20_000, 512 << 20
"""The limits of an unpacked project. A zip file of a few kilobytes can hold gigabytes of zeros."""
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
