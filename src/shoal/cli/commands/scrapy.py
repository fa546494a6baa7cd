"""`shoal scrapy`: what moves a Scrapy project to Shoal's scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal_text import safe
from shoal.errors import UsageError
from shoal.wording import plural

if TYPE_CHECKING:
    from shoal.scrapy.redis_import import Imported

_SHOW_EVERY = 10_000


@click.group()
@global_options
def scrapy() -> None:
    """Move a Scrapy project to Shoal's scheduler.

    \b
    shoal scrapy import books
    """


@scrapy.command("import", cls=Command)
@click.argument("spider")
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    metavar="DIR",
    help="Folder of the Scrapy project.  [default: the current folder]",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="CLASS",
    help="A class that pickled requests may have, as module.Class; repeatable.",
)
def import_(session: Session, spider: str, project: Path, allow: tuple[str, ...]) -> None:
    """Take over the queue and the seen requests that scrapy-redis has in Redis for SPIDER.

    Stop its processes first, and change settings.py to Shoal's scheduler. The command creates the spider's job. Then
    start the spider as usual. It changes nothing in what scrapy-redis keeps, and may be repeated.

    Its queue holds pickles, which can run code when they are read. Only classes of requests, plain values and classes
    that you --allow are loaded.

    \b
    shoal scrapy import books
    shoal scrapy import books --project ~/crawlers --allow crawlers.items.Book
    """
    from shoal.scrapy.project import load_project
    from shoal.scrapy.redis_import import import_crawl

    def show(read: int) -> None:
        if session.live and read % _SHOW_EVERY == 0:
            session.say(f"{read:,} requests read")

    session.say("reading pickles from Redis: import only what your own spiders wrote")
    home = Path(session.home).absolute() if session.home else None
    loaded = load_project(project.resolve(), spider)
    if home is not None:
        loaded.settings.set("SHOAL_HOME", str(home), "cmdline")
    _report(session, spider, session.run(import_crawl(loaded, list(allow), show)))


def _report(session: Session, spider: str, done: Imported) -> None:
    counts = {"queued": done.queued, "known": done.known, "seen": done.seen, "left_out": done.left_out}
    if session.json:
        session.data({"id": done.job, **counts, "why_left_out": done.why_left_out})
    else:
        known = f", {done.known:,} known already" if done.known else ""
        session.show(f"job {done.job}: {plural(done.queued, 'request')} queued{known}, {done.seen:,} more seen before")
        for why in done.why_left_out:
            session.say(f"left out: {safe(why)}")
        session.say(f"continue it: scrapy crawl {safe(spider)}")
    if done.left_out:
        raise UsageError(f"{plural(done.left_out, 'request')} left out: they are still in Redis")
