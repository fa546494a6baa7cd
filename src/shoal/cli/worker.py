"""`shoal worker`: a Celery worker of the fleet, as `celery -A shoal.fleet worker` would start it."""

from __future__ import annotations

import importlib
import os
import sys

import click

from shoal.cli.numbers import Whole
from shoal.cli.session import Command, Session
from shoal.errors import UsageError
from shoal.fleet.configuration import configuration
from shoal.model import Lane

lanes_option = click.option(
    "--lanes", default=",".join(Lane), show_default=True, metavar="L,L", help="Serve jobs of these lanes, best first."
)
concurrency_option = click.option(
    "--concurrency", type=Whole(), metavar="M", help="Requests in flight in each. [default: 64]"
)


@click.command(cls=Command)
@lanes_option
@click.option(
    "--processes",
    type=Whole(),
    default=os.cpu_count() or 1,
    show_default="one per core",
    metavar="N",
    help="Processes that crawl.",
)
@concurrency_option
def worker(session: Session, lanes: str, processes: int, concurrency: int | None) -> None:
    """Crawl for the fleet, until Ctrl-C or SIGTERM: then what is in flight ends, or is given back.

    It waits for Redis and the database if they are not there, and says so.

    \b
    SHOAL_REDIS_URL=redis://localhost:6379/0 shoal worker --processes 4
    shoal worker --lanes express
    """
    # Celery is a program of its own: what it lacks can be told here only.
    importlib.import_module("celery")
    configuration(session.settings)
    served = served_lanes(lanes)
    environment = {**os.environ, "SHOAL_HOME": str(session.settings.home)}
    if concurrency is not None:
        environment["SHOAL_CONCURRENCY"] = str(concurrency)
    words = ["worker", "-Q", ",".join(served), "--concurrency", str(processes)]
    # Many may run on one machine, and Celery tells them apart by this name.
    words += ["-n", f"shoal-{os.getpid()}@%h", "--loglevel", "info" if session.verbose else "warning"]
    unused = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    # A process of its own name would only stand between this one and its signals.
    celery = [sys.executable, "-m", "celery", "--quiet", "-A", "shoal.fleet"]
    os.execve(sys.executable, [*celery, *words, *unused], environment)


def served_lanes(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Lane)]
    if unknown or not names:
        raise UsageError(f"--lanes {text!r}: there are {', '.join(Lane)}, separated by commas")
    return [lane.value for lane in Lane if lane in names]
