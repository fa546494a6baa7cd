"""The `shoal` command. Each subcommand lives in a module of its own, imported when it is called."""

from __future__ import annotations

import gc
import importlib
import json
import sys
from contextlib import suppress
from typing import Any, NoReturn

import click

from shoal import __version__
from shoal.cli.session import Command, as_told, global_options
from shoal.cli.streams import drop_output, open_what_is_closed, until_unread
from shoal.errors import NO_ROOM, MissingExtra, ShoalError, Unavailable

COMMANDS = {
    "new": ("new", "Write a spider or rules file to start from."),
    "check": ("check", "Show what each field of a spider or rules file gives on a page."),
    "shell": ("shell", "Fetch one page and try selectors on it."),
    "demo": ("demo", "Serve the practice site on loopback, crawl it, show the result."),
    "crawl": ("crawl", "Crawl here and now, with live progress."),
    "submit": ("submit", "Hand a job to the fleet and print its id."),
    "resume": ("resume", "Continue a paused or interrupted job."),
    "jobs": ("jobs", "List the jobs."),
    "job": ("jobs", "Show one job's figures."),
    "watch": ("watch", "Follow a job's progress live."),
    "pause": ("steer", "Stop leasing from a job, for now."),
    "cancel": ("steer", "End a job and keep its data."),
    "pages": ("records", "List the pages of a job."),
    "items": ("items", "List the items of a job, or what was rejected and why."),
    "dead": ("records", "List the dead letters of a job, or try them again."),
    "explain": ("explain", "Say what happened to a URL, or what would, and why."),
    "diff": ("diff", "Say what two jobs found differently."),
    "extract": ("extract", "Run new rules over the archive of a job, without fetching."),
    "export": ("export", "Write a job's data to a file."),
    "schedule": ("schedule", "Begin jobs by the clock, again and again."),
    "hosts": ("hosts", "Show the hosts' clocks, set a host's rate, pause it."),
    "up": ("up", "Run a whole fleet on this machine."),
    "worker": ("worker", "Crawl for the fleet."),
    "tend": ("tend", "Keep the fleet going besides its workers."),
    "api": ("api", "Serve the HTTP API of the fleet."),
    "logs": ("logs", "Show what this machine's roles logged about a job."),
    "health": ("health", "Say whether this machine's roles make progress."),
    "rebuild": ("rebuild", "Restore a lost frontier from the store."),
    "token": ("token", "Make, list and remove tokens of the API."),
    "db": ("db", "Bring the store's schema up to date."),
    "config": ("config", "Show the settings and where each comes from."),
    "completion": ("completion", "Print the completion script of a shell."),
}

OF_FLEETS = {
    *("celery", "cronsim", "flask", "gunicorn", "msgpack", "packaging", "prometheus_client", "psycopg", "redis"),
    "structlog",
}
"""Modules that the extra `fleet` brings."""


class Shoal(click.Group):
    """Knows its commands' names and one-line helps without importing them, so that `--help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        # What modules make stays: to look for garbage among it takes a tenth of the start.
        gc.disable()
        try:
            module = importlib.import_module(f"shoal.cli.{COMMANDS[cmd_name][0]}")
        finally:
            gc.freeze()
            gc.enable()
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        # Click would make it exit code 1, which is that of a bug.
        with until_unread():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and ("." in args[0] or "/" in args[0]):
            ctx.fail(f"No such command {args[0]!r}. To crawl it: shoal crawl {args[0]}")
        if args and not args[0].startswith("-") and args[0] not in COMMANDS and not ctx.resilient_parsing:
            from difflib import get_close_matches

            meant = " or ".join(get_close_matches(args[0], COMMANDS))
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {meant}?" if meant else ""))
        return super().resolve_command(ctx, args)


@click.command(cls=Shoal, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="shoal", message="%(prog)s %(version)s")
@global_options
def shoal(**_: Any) -> None:
    """Shoal crawls the web politely, resumes after any interruption, and gives clean data.

    \b
    shoal demo                                  see it work, without a network
    shoal crawl https://example.com -o out.jsonl
    shoal resume last                           go on where a crawl stopped
    """


def main() -> NoReturn:
    """Runs a command and turns whatever ends it into its exit code."""
    open_what_is_closed()
    try:
        code = shoal.main(standalone_mode=False)
        with until_unread():
            sys.stdout.flush()
    except click.ClickException as error:
        error.show() if not _wants_json() else _say_as_json(error.format_message(), error.exit_code)
        code = error.exit_code
    except ShoalError as error:
        code = error.exit_code
        _say(str(error), code)
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except Exception as error:
        code = _unforeseen(error)
    sys.exit(code if isinstance(code, int) else 0)


def _unforeseen(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        # Databases, archive and exports name their file; what is left is standard output, and the lock of a home.
        _say(f"{error.strerror}: make room first", Unavailable.exit_code)
        drop_output()
        return Unavailable.exit_code
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] in OF_FLEETS:
        missing = MissingExtra(f"a fleet needs {error.name}, which is not installed", "fleet")
        _say(str(missing), missing.exit_code)
        return missing.exit_code
    # The one place where a bug of ours ends: shown whole, with the code that says so.
    import traceback

    traceback.print_exc()
    _say("this is a bug in Shoal; the lines above say where", 1)
    return 1


def _wants_json() -> bool:
    return "--json" in sys.argv[1:]


def _say(message: str, code: int) -> None:
    if _wants_json():
        _say_as_json(message, code)
    with suppress(OSError):
        click.echo(as_told(f"error: {message}"), err=True)


def _say_as_json(message: str, code: int) -> None:
    with suppress(OSError):
        click.echo(json.dumps({"type": "exit_error", "code": code, "message": message}))


__all__ = ["COMMANDS", "Command", "main", "shoal"]
