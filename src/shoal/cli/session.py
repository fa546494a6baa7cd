"""What all commands share: the global options, the settings, access to jobs, and output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from shlex import quote
from shutil import get_terminal_size, which
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from shoal import settings
from shoal.cli.deferred_interrupts import deferred_interrupts
from shoal.cli.stdio import data_stdout
from shoal.cli.terminal_text import wrapped
from shoal.errors import UsageError

if TYPE_CHECKING:
    import asyncio

    from shoal.cli.backends import Jobs, Proxies, Schedules, Tokens
    from shoal.cli.deployments import Deployments
    from shoal.client import Client
    from shoal.embedded.home import Home
    from shoal.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

API_PATIENCE_S = 3.0
"""How long a command tries to reach an unavailable API."""
NOTICED_AFTER_S = 3.0
"""An answer that takes longer is said to be missing."""
OPTIONS = (
    click.Option(["--home"], metavar="DIR", help="Folder for state and data.", expose_value=False),
    click.Option(["--api"], metavar="URL", help="Use the fleet behind this API.", expose_value=False),
    click.Option(["--json"], is_flag=True, help="Print one JSON object per line on stdout.", expose_value=False),
    click.Option(["-q", "--quiet"], is_flag=True, help="Show no progress.", expose_value=False),
    click.Option(["-v", "--verbose"], is_flag=True, help="Print a line per URL and log to stderr.", expose_value=False),
    click.Option(
        ["--color"],
        type=click.Choice(["auto", "always", "never"]),
        help="Use colours. NO_COLOR is respected.",
        expose_value=False,
    ),
)
"""Accepted before and after the command's name; an option after it wins."""

OWN_OPTIONS = "Options"
"""The heading of a command's own options."""
_OF_OTHER_TOOLS = {
    **dict.fromkeys(("--requisites", "--page-requisites"), "--assets"),
    **dict.fromkeys(("--depth", "--level"), "--max-depth"),
}
"""Names that wget and others have, and ours."""


def _remember(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    if value not in (None, False):
        ctx.find_root().ensure_object(dict)[option.name] = value


def wrapped_for_terminal(text: str) -> str:
    """Wraps text between words if stderr is a terminal; other readers get one line."""
    # None: stderr was closed before this process started.
    if sys.stderr is None or not sys.stderr.isatty():
        return text
    width = get_terminal_size().columns
    return "\n".join(line for part in text.split("\n") for line in wrapped(part, width))


@cache
def _program() -> str:
    """The command to show to people: `shoal`, or the path of this program if `shoal` is not on PATH."""
    called = sys.argv[0]
    return quote(called) if Path(called).name == "shoal" and which("shoal") is None else "shoal"


for _option in OPTIONS:
    _option.callback = _remember


def global_options(function: F) -> F:
    function.__click_params__ = [*getattr(function, "__click_params__", []), *reversed(OPTIONS)]  # type: ignore[attr-defined]
    return function


class Command(click.Command):
    """A command that also takes the global options, and gets the session as its first argument."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.params.extend(OPTIONS)

    def own_options(self, ctx: click.Context) -> list[click.Parameter]:
        shared = (*OPTIONS, self.get_help_option(ctx))
        return [param for param in self.get_params(ctx) if isinstance(param, click.Option) and param not in shared]

    def sections(self, ctx: click.Context) -> dict[str, list[click.Parameter]]:
        """Headings, and the parameters that the help shows under each."""
        return {OWN_OPTIONS: self.own_options(ctx)}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = self.own_options(ctx)
        shared = [param for param in self.get_params(ctx) if isinstance(param, click.Option) and param not in own]
        sections: dict[str, Sequence[click.Parameter]] = {**self.sections(ctx), "Global options": shared}
        for heading, params in sections.items():
            if records := [record for param in params if (record := param.get_help_record(ctx))]:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            # Only here: a command without a mistake need not load it.
            from shoal.model.options import OPTIONS as JOB_OPTIONS

            ours = [name for param in self.get_params(ctx) for name in param.opts]
            if (meant := _OF_OTHER_TOOLS.get(error.option_name)) in ours:
                raise click.UsageError(f"{error.option_name} is called {meant} here", ctx) from None
            if error.option_name not in [option.flag for option in JOB_OPTIONS.values() if option.on_command_line]:
                raise
            raise click.UsageError(
                f"{error.option_name} is an option of `shoal crawl`: give it when you crawl, not here", ctx
            ) from None

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
    says_silence: bool = field(default=True, init=False)
    """Whether to say that the API does not answer. It is said once, and a view that stays open says it itself."""
    read_timeout_s: float | None = field(default=None, init=False)
    """How long a client of the API waits for what it reads; None: as long as for a change."""

    @cached_property
    def settings(self) -> settings.Settings:
        flags = {"home": self.home, "api_url": self.api}
        return settings.load(flags, os.environ, Path.cwd(), settings.user_config_file(os.environ))

    def open_home(self) -> Home:
        """Opens the home, and creates it if it does not exist."""
        from shoal.embedded.home import Home

        return Home(self.settings.home, self.settings.archive_url, self.settings.spool_bytes)

    @contextmanager
    def open_jobs(self) -> Iterator[Jobs]:
        """Opens the jobs behind the API if one is set, else those of the fleet or the home."""
        if self.settings.api_url:
            from shoal.cli.backends.api_and_home import ApiAndHomeJobs

            with self.open_client() as client, ExitStack() as opened:
                yield ApiAndHomeJobs(self, client, opened)
        else:
            from shoal.cli.backends.local_jobs import LocalJobs

            with self.open_places() as places:
                yield LocalJobs(self, places)

    @contextmanager
    def open_schedules(self) -> Iterator[Schedules]:
        if self.settings.api_url:
            from shoal.cli.backends.api_schedules import ApiSchedules

            with self.open_client() as client:
                yield ApiSchedules(client)
        else:
            from shoal.cli.backends.local_schedules import LocalSchedules

            with LocalSchedules(self) as schedules:
                yield schedules

    @contextmanager
    def open_tokens(self) -> Iterator[Tokens]:
        if self.settings.api_url:
            from shoal.cli.backends.api_tokens import ApiTokens

            with self.open_client() as client:
                yield ApiTokens(client)
        else:
            from shoal.cli.backends.local_tokens import LocalTokens, open_store

            with open_store(self.settings) as store:
                yield LocalTokens(store)

    @contextmanager
    def open_proxies(self) -> Iterator[Proxies]:
        if self.settings.api_url:
            from shoal.cli.backends.api_proxies import ApiProxies

            with self.open_client() as client:
                yield ApiProxies(client)
        else:
            from shoal.cli.backends.local_proxies import LocalProxies
            from shoal.cli.backends.local_tokens import open_store

            with open_store(self.settings) as store:
                yield LocalProxies(store, self.settings)

    def open_client(self) -> Client:
        """Opens a client of the API in the settings. Raises UsageError without a token."""
        from shoal.client import Client

        assert self.settings.api_url is not None
        if self.settings.token is None:
            raise UsageError(
                f"the API at {self.settings.shown('api_url')} needs a token: set SHOAL_TOKEN; "
                "`shoal token add NAME --scope submit` on a machine of the fleet creates one"
            )
        return Client(
            self.settings.api_url,
            self.settings.token,
            read_timeout_s=self.read_timeout_s,
            patience_s=API_PATIENCE_S,
            on_silence=self.on_silence,
            silent_after_s=NOTICED_AFTER_S,
        )

    @property
    def on_silence(self) -> Callable[[], None] | None:
        """What a client does when the API is silent."""
        return None if self.quiet or self.json else self._say_silence

    def _say_silence(self) -> None:
        # Imported here only: commands that do not need it start faster.
        from shoal.cli.live_calls import no_answer

        if self.says_silence:
            self.says_silence = False
            self.say(no_answer(self.settings.shown("api_url"), NOTICED_AFTER_S))

    def refuse_api(self, command: str, needs: str) -> None:
        """For commands that only a machine of the fleet can run. Raises UsageError if an API is set."""
        if self.settings.api_url:
            where = self.settings.origins["api_url"]
            raise UsageError(
                f"`shoal {command}` needs {needs}, which the API does not offer: "
                f"run it on a machine of the fleet, without {where}"
            )

    @contextmanager
    def open_places(self, chosen: Settings | None = None) -> Iterator[Deployments]:
        """Opens the deployments that can be reached without an API, by these settings or the session's."""
        from shoal.cli.deployments import Deployments

        places = Deployments(chosen or self.settings)
        try:
            yield places
        finally:
            self.run(places.close())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs in the command's one event loop: a connection belongs to the loop that opened it."""
        import asyncio

        try:
            with deferred_interrupts():
                runner = self._runner
        except KeyboardInterrupt:
            work.close()
            raise
        try:
            return runner.run(work)
        except asyncio.CancelledError:
            # An interrupt came when asyncio did not expect one. Nothing else cancels the work of a command.
            raise KeyboardInterrupt from None

    @cached_property
    def _runner(self) -> asyncio.Runner:
        import asyncio

        runner = asyncio.Runner()
        # Now, not at the first use: a loop that is half made cannot be closed.
        runner.get_loop()
        return runner

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if runner := self.__dict__.pop("_runner", None):
            with deferred_interrupts():
                runner.close()

    def command(self, *words: str) -> str:
        """A command to show as the next step, with the same --home and --api as this one."""
        where = {"--home": self.home, "--api": self.api}
        given = [f"{flag} {quote(value)}" for flag, value in where.items() if value]
        return " ".join([_program(), *given, *words])

    def data(self, row: Mapping[str, Any]) -> None:
        """Prints one JSON object as a line on stdout."""
        click.echo(json.dumps(row, ensure_ascii=False), file=data_stdout())

    def say(self, text: str = "") -> None:
        """Prints a message for people on stderr; stdout is for data."""
        # A full disk or a closed pipe under stderr must not stop the work.
        with suppress(OSError):
            click.echo(wrapped_for_terminal(text), err=True, color=self.colored(sys.stderr))

    def show(self, text: str = "") -> None:
        """Prints a line of the requested data on stdout."""
        click.echo(text, color=self.colored(sys.stdout))

    def colored(self, stream: Any) -> bool:
        if self.color != "auto":
            return self.color == "always"
        return bool(stream.isatty()) and not os.environ.get("NO_COLOR")

    @property
    def live(self) -> bool:
        return sys.stderr.isatty() and not self.quiet and not self.json and os.environ.get("TERM") != "dumb"
