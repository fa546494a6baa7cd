"""The `shoal` command. Each subcommand has its own module, which is imported when the command runs."""

from __future__ import annotations

import importlib
import json
import sys
from contextlib import suppress
from typing import Any, NoReturn

import click

from shoal import __version__
from shoal.cli.garbage_collection import nothing_collected
from shoal.cli.session import Command, global_options, wrapped_for_terminal
from shoal.cli.stdio import discard_output, open_closed_streams, until_reader_leaves
from shoal.errors import NO_ROOM, MissingExtra, ShoalError, Unavailable

COMMANDS = {
    "new": ("new", "Create a spider or rules file to start from."),
    "check": ("check", "Test a spider or rules file on a page."),
    "shell": ("shell", "Fetch one page and try selectors on it."),
    "demo": ("demo", "Crawl a practice site on this machine, without a network."),
    "crawl": ("crawl", "Run a crawl in this terminal, with live progress."),
    "submit": ("submit", "Submit a job to the fleet and print its id."),
    "resume": ("resume", "Continue a paused or interrupted job."),
    "jobs": ("jobs", "List jobs."),
    "job": ("jobs", "Show one job: state, counts, errors and options."),
    "watch": ("watch", "Follow a job's progress live."),
    "dashboard": ("dashboard", "Look at jobs in a browser, and control them."),
    "pause": ("pause_and_cancel", "Pause a job."),
    "cancel": ("pause_and_cancel", "Cancel a job and keep its data."),
    "delete": ("delete", "Delete jobs with all their data."),
    "pages": ("pages_and_dead", "List the pages that a job fetched."),
    "items": ("items", "List the items that a job extracted or rejected."),
    "dead": ("pages_and_dead", "List the requests that a job gave up on, or retry them."),
    "explain": ("explain", "Explain what happened to a URL in a job, and why."),
    "diff": ("diff", "Compare the pages and items of two jobs."),
    "extract": ("extract", "Extract items again from archived pages, without fetching."),
    "export": ("export", "Write a job's data to a file."),
    "report": ("report", "Write a report about a job, with charts, as one HTML file."),
    "schedule": ("schedule", "Start jobs at set times (cron)."),
    "hosts": ("hosts", "Show each host's state, set its rate, or pause it."),
    "proxies": ("proxies", "Show how well proxies work, test them, and keep named pools."),
    "up": ("up", "Run a whole fleet on this machine."),
    "top": ("top", "Show jobs and processes live."),
    "workers": ("workers", "List the processes of the fleet."),
    "worker": ("worker", "Run worker processes, which crawl the fleet's jobs."),
    "tend": ("tend", "Run the fleet's scheduler: start and finish jobs, recover lost work."),
    "api": ("api", "Serve the fleet's HTTP API."),
    "logs": ("logs", "Show this machine's log events about a job."),
    "health": ("health", "Check that the fleet's processes on this machine make progress."),
    "scrapy": ("scrapy", "Move a Scrapy project to Shoal's scheduler."),
    "rebuild": ("rebuild", "Restore a job's lost queue in Redis from the database."),
    "token": ("token", "Create, list and remove API tokens."),
    "db": ("db", "Create or upgrade the database schema."),
    "config": ("config", "Show the settings and where each value comes from."),
    "completion": ("completion", "Print the completion script for a shell."),
}

FLEET_MODULES = {
    *("celery", "cronsim", "flask", "gunicorn", "msgpack", "packaging", "prometheus_client", "psycopg", "redis"),
    "structlog",
}
"""Modules that the extra `fleet` installs."""


class Shoal(click.Group):
    """Knows the name and one-line help of each command without importing it, so that `--help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        with nothing_collected():
            module = importlib.import_module(f"shoal.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        # Click would turn a closed pipe into exit code 1, which means a bug here.
        with until_reader_leaves():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and ("." in args[0] or "/" in args[0]):
            ctx.fail(f"No such command {args[0]!r}. To crawl it: shoal crawl {args[0]}")
        if args and not args[0].startswith("-") and args[0] not in COMMANDS and not ctx.resilient_parsing:
            from difflib import get_close_matches

            similar = " or ".join(get_close_matches(args[0], COMMANDS))
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {similar}?" if similar else ""))
        return super().resolve_command(ctx, args)


_VERSION_HELP = "Show the version, and what reads pages, and exit."


def _show_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        # Imported here: other commands may not need it.
        from shoal.extract.parser_choice import HAS_SCANNER

        without = "lexbor and libxml2 (no compiler was there at the installation)"
        click.echo(f"shoal {__version__}\npages are read by {'the compiled scanner' if HAS_SCANNER else without}")
        ctx.exit()


@click.command(cls=Shoal, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help=_VERSION_HELP)
@global_options
def shoal(**_: Any) -> None:
    """Shoal is a web crawler: it is polite to sites, resumes after any interruption, and writes clean data.

    \b
    shoal demo                                  see it work, without a network
    shoal crawl https://example.com -o out.jsonl
    shoal resume last                           continue a crawl where it stopped
    """


def main() -> NoReturn:
    """Runs a command and turns its result or exception into the exit code."""
    open_closed_streams()
    try:
        code = shoal.main(standalone_mode=False)
        with until_reader_leaves():
            sys.stdout.flush()
    except click.ClickException as error:
        error.show() if not _wants_json() else _print_error_as_json(error.format_message(), error.exit_code)
        code = error.exit_code
    except ShoalError as error:
        code = error.exit_code
        _print_error(str(error), code)
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except Exception as error:
        # Shown with its traceback: it is a bug of ours.
        code = _report_unexpected(error)
    sys.exit(code if isinstance(code, int) else 0)


def _report_unexpected(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        # Errors of databases, archive and exports name their file. These come from stdout or the lock of a home.
        _print_error(f"{error.strerror}: free some disk space first", Unavailable.exit_code)
        discard_output()
        return Unavailable.exit_code
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] in FLEET_MODULES:
        missing = MissingExtra(f"a fleet needs {error.name}, which is not installed", "fleet")
        _print_error(str(missing), missing.exit_code)
        return missing.exit_code
    # A bug in Shoal: show the whole traceback.
    import traceback

    traceback.print_exc()
    _print_error("this is a bug in Shoal; the traceback above shows where", 1)
    return 1


def _wants_json() -> bool:
    return "--json" in sys.argv[1:]


def _print_error(message: str, code: int) -> None:
    if _wants_json():
        _print_error_as_json(message, code)
    with suppress(OSError):
        click.echo(wrapped_for_terminal(f"error: {message}"), err=True)


def _print_error_as_json(message: str, code: int) -> None:
    with suppress(OSError):
        click.echo(json.dumps({"type": "exit_error", "code": code, "message": message}))


__all__ = ["COMMANDS", "Command", "main", "shoal"]
