"""Loads a Scrapy project as `scrapy crawl` does, from the folder that holds its scrapy.cfg or from one below it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scrapy.spiderloader import SpiderLoader
from scrapy.utils.conf import closest_scrapy_cfg
from scrapy.utils.project import get_project_settings

from shoal.errors import UsageError

_PROGRAMS = frozenset(("scrapy", "scrapy.cmdline", "scrapy.exe"))
_PAGE_COMMANDS = frozenset(("bench", "check", "fetch", "parse", "shell", "view"))


def runs_page_command(argv: Sequence[str]) -> bool:
    """Whether this process is `scrapy shell` or its like, which looks at single pages and is no crawl.

    `argv` is that of the interpreter: Scrapy takes the command out of its own.
    """
    at = next((place for place, word in enumerate(argv) if Path(word).name in _PROGRAMS), len(argv))
    return next((word for word in argv[at + 1 :] if not word.startswith("-")), "") in _PAGE_COMMANDS


class ScrapyProject(NamedTuple):
    settings: Any
    """Of the spider: the project's, with its `custom_settings`."""
    spider: Any
    """The class."""


def load_project(folder: Path, spider: str) -> ScrapyProject:
    """Changes the current folder, as the project's relative paths need it. Raises UsageError."""
    if not closest_scrapy_cfg(folder):
        raise UsageError(f"{folder} is not in a Scrapy project: there is no scrapy.cfg in it or above it")
    os.chdir(folder)
    settings = get_project_settings()
    loader = SpiderLoader.from_settings(settings.copy())
    try:
        found = loader.load(spider)
    except KeyError:
        raise UsageError(f"the project has no spider {spider!r}: it has {_listed(loader.list())}") from None
    found.update_settings(settings)
    return ScrapyProject(settings, found)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)) or "none"
