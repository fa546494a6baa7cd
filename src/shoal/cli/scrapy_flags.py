"""The flags of `shoal submit` and `shoal schedule add` for a spider of a Scrapy project."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from shoal.cli.job_request import given_options
from shoal.cli.numbers import Whole
from shoal.cli.session import Session
from shoal.errors import UsageError
from shoal.model import JobSpec, ScrapyRun
from shoal.model.options import to_fields

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS = (
    click.option(
        "--scrapy",
        metavar="DIR",
        help="Run a spider of this Scrapy project: a folder or its settings module; over an API its name there.",
    ),
    click.option("--spider", metavar="NAME", help="The spider of the Scrapy project."),
    click.option(
        "--project-version", metavar="V", help="Of an uploaded project, over an API; the latest without this."
    ),
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

    def fields(self) -> dict[str, Any]:
        """Of `POST /jobs`."""
        run = self.run
        named = {"project": run.project, "spider": self.spider, "arguments": run.arguments, "settings": run.settings}
        version = {} if run.version is None else {"version": run.version}
        return {**to_fields(self.options), "scrapy": {**named, **version, "processes": run.processes}}


def take_scrapy_flags(
    session: Session, source: tuple[str, ...], dry_run: bool, options: dict[str, Any]
) -> ScrapyFlags | None:
    """Takes them out of the options. None: the job is not one of Scrapy. Raises UsageError."""
    # Only here: most commands submit no job of Scrapy.
    from shoal.fleet.scrapy_spec import check_options

    context = click.get_current_context()
    project, spider = options.pop("scrapy"), options.pop("spider")
    settings, processes = options.pop("settings"), options.pop("processes")
    version = options.pop("project_version")
    if project is None:
        counted = context.get_parameter_source("processes") is not click.core.ParameterSource.DEFAULT
        if spider or version or settings or counted:
            raise UsageError(
                "--spider, --project-version, --set and --processes are for a Scrapy project: name it with --scrapy DIR"
            )
        if not source:
            raise click.UsageError("Missing argument 'SOURCE...'.", context)
        return None
    if source or dry_run:
        raise UsageError("a spider of Scrapy has its own start URLs: leave SOURCE and --dry-run out")
    if not spider:
        raise UsageError("--scrapy needs the name of a spider: --spider NAME; `scrapy list` shows them")
    if version and not session.settings.api_url:
        raise UsageError("--project-version is for a project that was uploaded to an API: give --api URL")
    given = given_options(options)
    arguments = _pairs("-a", given.pop("argument", ()))
    check_options(given)
    place = _name(project) if session.settings.api_url else _project(project)
    run = ScrapyRun(place, arguments, _pairs("-s", settings), processes, version=version)
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


def _name(given: str) -> str:
    if os.sep in given or Path(given).is_dir():
        raise UsageError(
            f"--scrapy {given!r} is a folder of this machine, and an API runs projects by their names: upload it with "
            "scrapyd-deploy, or have the operator name it in SHOAL_SCRAPY_PROJECTS; then give --scrapy NAME"
        )
    return given


def _pairs(flag: str, given: Mapping[str, Any] | tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in given:
        name, equals, value = str(text).partition("=")
        if not name or not equals:
            raise UsageError(f"{flag} {text!r}: give NAME=VALUE")
        pairs[name] = value
    return pairs
