"""The flags of `shoal submit` and `shoal schedule add` for a spider of a Scrapy project."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from shoal.cli.job_request import given_options
from shoal.cli.numbers import Whole
from shoal.errors import UsageError
from shoal.model import JobSpec, ScrapyRun
from shoal.model.options import OPTIONS

F = TypeVar("F", bound=Callable[..., Any])

TAKEN = {
    *("max_pages", "max_pages_per_host", "max_bytes", "max_seconds"),
    *("lane", "priority", "name", "sink", "webhook", "webhook_secret", "argument", "max_failure_rate"),
}
"""Options of a job that mean the same for a Scrapy project."""
_FLAGS = (
    click.option(
        "--scrapy", metavar="DIR", help="Run a spider of this Scrapy project: a folder, or its settings module."
    ),
    click.option("--spider", metavar="NAME", help="The spider of the Scrapy project."),
    click.option("-s", "--set", "settings", multiple=True, metavar="K=V", help="A setting of Scrapy; repeatable."),
    click.option(
        "--processes", type=Whole(), default=1, show_default=True, metavar="N", help="Processes of the spider."
    ),
)


def scrapy_options(function: F) -> F:
    for option in reversed(_FLAGS):
        function = option(function)
    return function


class ScrapyFlags(NamedTuple):
    spider: str
    run: ScrapyRun
    options: Mapping[str, Any]
    """Of the job."""

    def spec(self) -> JobSpec:
        """Raises UsageError."""
        # Only here: most commands submit no job of Scrapy.
        from shoal.fleet.scrapy_spec import scrapy_spec

        return scrapy_spec(self.spider, self.run, self.options)


def take_scrapy_flags(source: tuple[str, ...], dry_run: bool, options: dict[str, Any]) -> ScrapyFlags | None:
    """Takes them out of the options. None: the job is not one of Scrapy. Raises UsageError."""
    context = click.get_current_context()
    project, spider = options.pop("scrapy"), options.pop("spider")
    settings, processes = options.pop("settings"), options.pop("processes")
    if project is None:
        if spider or settings or context.get_parameter_source("processes") is not click.core.ParameterSource.DEFAULT:
            raise UsageError("--spider, --set and --processes are for a Scrapy project: name it with --scrapy DIR")
        if not source:
            raise click.UsageError("Missing argument 'SOURCE...'.", context)
        return None
    if source or dry_run:
        raise UsageError("a spider of Scrapy has its own start URLs: leave SOURCE and --dry-run out")
    if not spider:
        raise UsageError("--scrapy needs the name of a spider: --spider NAME; `scrapy list` shows them")
    given = given_options(options)
    if strange := [OPTIONS[name].flag if name in OPTIONS else f"--{name}" for name in given if name not in TAKEN]:
        raise UsageError(f"{', '.join(strange)}: not for a Scrapy project, which has settings instead: -s NAME=VALUE")
    arguments = _pairs("-a", given.pop("argument", ()))
    run = ScrapyRun(_project(project), arguments, _pairs("-s", settings), processes)
    return ScrapyFlags(spider, run, given)


def _project(given: str) -> str:
    folder = Path(given)
    if folder.is_dir():
        if not (folder / "scrapy.cfg").exists():
            raise UsageError(f"{given!r} is not a Scrapy project: it has no scrapy.cfg")
        return str(folder.absolute())
    if os.sep in given or not all(part.isidentifier() for part in given.split(".")):
        raise UsageError(f"--scrapy {given!r}: there is no such folder; give the project's, or its settings module")
    return given


def _pairs(flag: str, given: Mapping[str, Any] | tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in given:
        name, equals, value = str(text).partition("=")
        if not name or not equals:
            raise UsageError(f"{flag} {text!r}: give NAME=VALUE")
        pairs[name] = value
    return pairs
