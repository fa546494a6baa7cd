"""What every command shares: the global options, the settings they lead to, and how things are said."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from shlex import quote
from shutil import get_terminal_size, which
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from shoal import settings
from shoal.cli.terminal import wrapped
from shoal.errors import UsageError

if TYPE_CHECKING:
    import asyncio

    from shoal.cli.places import Places
    from shoal.cli.reach import Jobs, Schedules, Tokens
    from shoal.client import Client
    from shoal.embedded.home import Home
    from shoal.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

API_PATIENCE_S = 3.0
"""How long a command tries to reach an API that is away."""
OPTIONS = (
    click.Option(["--home"], metavar="DIR", help="Where state and data are kept.", expose_value=False),
    click.Option(["--api"], metavar="URL", help="Act on the fleet behind this API.", expose_value=False),
    click.Option(["--json"], is_flag=True, help="One JSON object per line on stdout.", expose_value=False),
    click.Option(["--quiet"], is_flag=True, help="No progress.", expose_value=False),
    click.Option(["--verbose"], is_flag=True, help="Say more, and log on stderr.", expose_value=False),
    click.Option(
        ["--color"],
        type=click.Choice(["auto", "always", "never"]),
        help="Colours; NO_COLOR is honoured.",
        expose_value=False,
    ),
)
"""Accepted before and after the command's name; what stands after it wins."""


def _given(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    if value not in (None, False):
        ctx.find_root().ensure_object(dict)[option.name] = value


def as_told(text: str) -> str:
    """A terminal would break it within words; whatever else reads stderr has it in one line."""
    # None: it was closed before this process began.
    if sys.stderr is None or not sys.stderr.isatty():
        return text
    width = get_terminal_size().columns
    return "\n".join(line for part in text.split("\n") for line in wrapped(part, width))


@cache
def _program() -> str:
    """As this one was called where `shoal` alone would not be found: from a checkout, by its path."""
    called = sys.argv[0]
    return quote(called) if Path(called).name == "shoal" and which("shoal") is None else "shoal"


for _option in OPTIONS:
    _option.callback = _given


def global_options(function: F) -> F:
    function.__click_params__ = [*getattr(function, "__click_params__", []), *reversed(OPTIONS)]  # type: ignore[attr-defined]
    return function


class Command(click.Command):
    """A command that takes the global options too, and receives the session as its first argument."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.params.extend(OPTIONS)

    def invoke(self, ctx: click.Context) -> Any:
        assert self.callback is not None
        with Session(**ctx.find_root().ensure_object(dict)) as session:
            return ctx.invoke(self.callback, session, **ctx.params)


@dataclass
class Session:
    home: str | None = None
    api: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: str = "auto"

    @cached_property
    def settings(self) -> settings.Settings:
        flags = {"home": self.home, "api_url": self.api}
        return settings.load(flags, os.environ, Path.cwd(), settings.user_config_file(os.environ))

    def open_home(self) -> Home:
        """Made if it is not there."""
        from shoal.embedded.home import Home

        return Home(self.settings.home, self.settings.archive_url)

    @contextmanager
    def open_jobs(self) -> Iterator[Jobs]:
        """Wherever this command may find jobs: behind the API if one is set, else on the fleet or in the home."""
        if self.settings.api_url:
            from shoal.cli.reach.beside_api import JobsBesideApi

            with self.open_client() as client, ExitStack() as opened:
                yield JobsBesideApi(self, client, opened)
        else:
            from shoal.cli.reach.own_jobs import OwnJobs

            with self.open_places() as places:
                yield OwnJobs(self, places)

    @contextmanager
    def open_schedules(self) -> Iterator[Schedules]:
        if self.settings.api_url:
            from shoal.cli.reach.api_schedules import ApiSchedules

            with self.open_client() as client:
                yield ApiSchedules(client)
        else:
            from shoal.cli.reach.own_schedules import OwnSchedules

            with OwnSchedules(self) as schedules:
                yield schedules

    @contextmanager
    def open_tokens(self) -> Iterator[Tokens]:
        if self.settings.api_url:
            from shoal.cli.reach.api_tokens import ApiTokens

            with self.open_client() as client:
                yield ApiTokens(client)
        else:
            from shoal.cli.reach.own_tokens import OwnTokens, open_store

            with open_store(self.settings) as store:
                yield OwnTokens(store)

    def open_client(self) -> Client:
        """Of the API that is set. Raises UsageError if there is no token to use it with."""
        from shoal.client import Client

        assert self.settings.api_url is not None
        if self.settings.token is None:
            raise UsageError(
                f"the API at {self.settings.shown('api_url')} wants a token: give it in SHOAL_TOKEN; "
                "`shoal token add NAME --scope submit` makes one on a machine of the fleet"
            )
        return Client(self.settings.api_url, self.settings.token, patience_s=API_PATIENCE_S)

    def refuse_api(self, command: str, needs: str) -> None:
        """For commands that work on what only a machine of the fleet has. Raises UsageError if an API is set."""
        if self.settings.api_url:
            where = self.settings.origins["api_url"]
            raise UsageError(
                f"`shoal {command}` needs {needs}, which the API does not give: run it there, without {where}"
            )

    @contextmanager
    def open_places(self, chosen: Settings | None = None) -> Iterator[Places]:
        """Wherever jobs can be reached without an API, by the settings or others."""
        from shoal.cli.places import Places

        places = Places(chosen or self.settings)
        try:
            yield places
        finally:
            self.run(places.close())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """All of a command runs in one event loop: connections to servers belong to theirs."""
        return self._runner.run(work)

    @cached_property
    def _runner(self) -> asyncio.Runner:
        import asyncio

        return asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if runner := self.__dict__.pop("_runner", None):
            runner.close()

    def command(self, *words: str) -> str:
        """A command to type next, for where this one acts."""
        where = {"--home": self.home, "--api": self.api}
        given = [f"{flag} {quote(value)}" for flag, value in where.items() if value]
        return " ".join([_program(), *given, *words])

    def data(self, row: Mapping[str, Any]) -> None:
        """One object per line on stdout."""
        click.echo(json.dumps(row, ensure_ascii=False))

    def say(self, text: str = "") -> None:
        """A line for a person, on stderr: stdout is for data."""
        # A log on a full disk, or that nobody reads any more, must not end the work it tells of.
        with suppress(OSError):
            click.echo(as_told(text), err=True, color=self.colored(sys.stderr))

    def show(self, text: str = "") -> None:
        """A line of what was asked for, on stdout."""
        click.echo(text, color=self.colored(sys.stdout))

    def colored(self, stream: Any) -> bool:
        if self.color != "auto":
            return self.color == "always"
        return bool(stream.isatty()) and not os.environ.get("NO_COLOR")

    @property
    def live(self) -> bool:
        return sys.stderr.isatty() and not self.quiet and not self.json and os.environ.get("TERM") != "dumb"
