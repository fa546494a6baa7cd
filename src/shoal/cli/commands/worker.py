"""`shoal worker`: starts a Celery worker of the fleet, as `celery -A shoal.fleet worker` would."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from shoal.browser.find_browser import find_browser
from shoal.cli.numbers import Whole
from shoal.cli.session import Command, Session
from shoal.errors import UsageError
from shoal.fleet.celery_config import configuration
from shoal.model import Lane

lanes_option = click.option(
    "--lanes",
    default=",".join(Lane),
    show_default=True,
    metavar="L,L",
    help="Crawl only jobs of these lanes. Express goes before batch, and batch before slow.",
)
concurrency_option = click.option(
    "--concurrency", type=Whole(), metavar="M", help="Maximum concurrent requests per process. [default: 64]"
)
browsers_option = click.option(
    "--browsers",
    type=Whole(0),
    default=0,
    metavar="N",
    help="Processes that have a browser each, and render pages too. Instead of --processes.",
)


@click.command(cls=Command)
@lanes_option
@click.option(
    "--processes",
    type=Whole(),
    default=os.cpu_count() or 1,
    show_default="one per core",
    metavar="N",
    help="Worker processes.",
)
@browsers_option
@concurrency_option
def worker(session: Session, lanes: str, processes: int, browsers: int, concurrency: int | None) -> None:
    """Run worker processes, which crawl the jobs of the fleet at SHOAL_REDIS_URL until Ctrl-C or SIGTERM.

    When it stops, it finishes or requeues the requests in flight. If Redis or the database is unavailable, it waits
    and logs that.

    \b
    SHOAL_REDIS_URL=redis://localhost:6379/0 shoal worker --processes 4
    shoal worker --lanes express
    shoal worker --browsers 2
    """
    # Celery runs as another program, so only this one can report that it is not installed.
    importlib.import_module("celery")
    configuration(session.settings)
    served = served_lanes(lanes)
    environment = {**os.environ, "SHOAL_HOME": str(session.settings.home)}
    if browsers:
        # Only this process can report that there is none.
        find_browser(session.settings.browser)
        environment["SHOAL_RENDERING"] = "on"
        processes = browsers
    if concurrency is not None:
        environment["SHOAL_CONCURRENCY"] = str(concurrency)
    # Replaces this process: a child process would not get its signals.
    words = celery_words(served, processes, f"shoal-{os.getpid()}", session.verbose)
    os.execve(sys.executable, [sys.executable, "-m", "celery", *words], environment)


def celery_words(lanes: Sequence[str], processes: int, name: str, verbose: bool) -> list[str]:
    """The arguments of `celery`. Celery distinguishes workers on one machine by their names."""
    words = ["--quiet", "-A", "shoal.fleet", "worker", "-Q", ",".join(lanes), "--concurrency", str(processes)]
    words += ["-n", f"{name}@%h", "--loglevel", "info" if verbose else "warning"]
    unused = ["--without-gossip", "--without-mingle"]
    return [*words, *unused]


def served_lanes(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Lane)]
    if unknown or not names:
        raise UsageError(f"--lanes {text!r}: give one or more of {', '.join(Lane)}, separated by commas")
    return [lane.value for lane in Lane if lane in names]
