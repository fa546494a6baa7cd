"""`shoal schedule`: jobs that begin by the clock."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from shutil import get_terminal_size
from typing import Any
from zoneinfo import ZoneInfo

import click

from shoal.cli.asked import asked, asked_options, given_options, report_bad_lines
from shoal.cli.dryrun import show_dry_run
from shoal.cli.session import Command, Session, global_options, safe, table
from shoal.cli.token import open_store
from shoal.errors import Unavailable, UsageError
from shoal.fleet.cron import Cron
from shoal.fleet.place import Fleet
from shoal.fleet.scheduled import schedule_record
from shoal.fleet.schedules import Template, make_schedule, run_now
from shoal.spiders.naming import spider_among
from shoal.spiders.sources import read_sources
from shoal.spiders.wish import Wish
from shoal.store.schedules import (
    Overlap,
    RunState,
    Schedule,
    change_schedule,
    find_schedule,
    last_runs,
    list_schedules,
    remove_schedule,
)
from shoal.store.store import Store

HEADER = ("next run", "cron", "zone", "overlap", "name")


@click.group()
@global_options
def schedule() -> None:
    """Begin jobs by the clock, again and again; tend does.

    \b
    shoal schedule add news --cron "*/30 * * * *" https://example.com
    shoal schedule list
    shoal schedule remove news
    """


@schedule.command(cls=Command)
@click.argument("label", metavar="NAME")
@click.option("--cron", required=True, metavar="EXPR", help='Minute, hour, day, month, weekday: "30 4 * * mon".')
@click.option("--zone", default="UTC", show_default=True, metavar="ZONE", help="Time zone, as in Europe/Berlin.")
@click.option(
    "--overlap",
    type=click.Choice([overlap.value for overlap in Overlap]),
    default=Overlap.SKIP.value,
    show_default=True,
    help="What becomes of a run while an earlier job has not ended.",
)
@asked_options
def add(
    session: Session, label: str, cron: str, zone: str, overlap: str, source: tuple[str, ...], **options: Any
) -> None:
    """Begin a crawl of SOURCE whenever EXPR says so, under NAME.

    SOURCE and the options are as for `shoal submit`; lists are read now, once, and a spider is package.module:name.
    The jobs are recrawls: they ask only for what changed since the last (--refresh), under the same name.

    \b
    shoal schedule add news --cron "*/30 * * * *" https://example.com
    shoal schedule add shop --cron "30 4 * * mon" --zone Europe/Berlin shop.yaml
    """
    column, strict, dry_run = options.pop("column"), options.pop("strict"), options.pop("dry_run")
    if dry_run:
        wanted = asked(session, source, column, strict, None, options)
        show_dry_run(session, wanted.spec, wanted.sources)
        return
    template = _template(session, source, column, strict, options)
    with open_store(session) as store:
        made = make_schedule(store, session.settings, label, cron, zone, Overlap(overlap), template)
        _tell(session, store, made, f"begins {_next_run(made)}")


@schedule.command("list", cls=Command)
def list_(session: Session) -> None:
    """List the schedules: when each runs next, and how its last run went.

    \b
    shoal schedule list
    shoal schedule list --json
    """
    with open_store(session) as store:
        found = list_schedules(store)
        if session.json:
            for one in found:
                session.data(schedule_record(store, one))
            return
        if not found:
            session.say('there is no schedule yet: shoal schedule add NAME --cron "30 4 * * *" URL')
            return
        header, *lines = table(map(_row, found), HEADER, get_terminal_size().columns, frozenset())
        session.show(header)
        for one, line in zip(found, lines, strict=True):
            session.show(line)
            for note in _notes(store, one):
                session.show(f"        {note}")


@schedule.command(cls=Command)
@click.argument("label", metavar="NAME")
def remove(session: Session, label: str) -> None:
    """Remove a schedule by its NAME or id; the jobs that it has begun stay.

    \b
    shoal schedule remove news
    """
    with open_store(session) as store:
        found = _found(store, label)
        remove_schedule(store, found.id)
    if session.json:
        session.data({"removed": found.name})
    session.say(f"schedule {safe(found.name)} is removed")


@schedule.command(cls=Command)
@click.argument("label", metavar="NAME")
@click.option("--off", is_flag=True, help="Let it go on.")
def pause(session: Session, label: str, off: bool) -> None:
    """Let a schedule rest; what would have run meanwhile is not made up for.

    \b
    shoal schedule pause news
    shoal schedule pause news --off
    """
    with open_store(session) as store:
        found = _found(store, label)
        now = time.time()
        change_schedule(store, found.id, lambda one: {"paused": not off, "due_at": Cron(one.cron, one.zone).after(now)})
        changed = _found(store, found.id)
        _tell(session, store, changed, f"begins {_next_run(changed)}" if off else "is paused")


@schedule.command(cls=Command)
@click.argument("label", metavar="NAME")
def run(session: Session, label: str) -> None:
    """Begin the job of a schedule now, besides its hours.

    \b
    shoal schedule run news
    """
    fleet = Fleet(session.settings)
    try:
        found = _found(fleet.store, label)
        begun = run_now(fleet.store, found)
        with suppress(Unavailable):
            # Tend finds it without being rung.
            session.run(fleet.ring())
    finally:
        session.run(fleet.close())
    if session.json:
        session.data({"id": begun.job})
        return
    session.show(begun.job)
    session.say(f"follow it: {session.command('watch', begun.job)}")


def _template(
    session: Session, source: tuple[str, ...], column: str | None, strict: bool, options: dict[str, Any]
) -> Template:
    spider, words = spider_among(source)
    given = json.loads(json.dumps(given_options(options)))
    urls: list[str] = []
    if words:
        wish = Wish.of(given, spider, session.settings.allow_private)
        sources = read_sources(words, wish.params, wish.group, column, sys.stdin.buffer)
        urls = [one.spelt for one in sources.inputs if one.target is not None]
        report_bad_lines(session, sources, strict)
        if sources.credentials:
            raise UsageError("a schedule keeps no passwords of URLs: give --header 'Authorization: …' instead")
        if sources.listed:
            given.setdefault("scope", "listed")
    if spider is not None and spider.rules is not None:
        return Template(urls, json.loads(spider.rules), None, given)
    return Template(urls, None, spider.reference if spider else None, given)


def _found(store: Store, name: str) -> Schedule:
    found = find_schedule(store, name)
    if found is None:
        raise UsageError(f"there is no schedule {name!r}: `shoal schedule list` lists them")
    return found


def _tell(session: Session, store: Store, one: Schedule, said: str) -> None:
    if session.json:
        session.data(schedule_record(store, one))
        return
    session.say(f"schedule {safe(one.name)} {said}")


def _next_run(one: Schedule) -> str:
    (tick,) = Cron(one.cron, one.zone).next_runs(time.time(), 1)
    return f"{tick:%Y-%m-%d %H:%M}"


def _row(one: Schedule) -> tuple[str, ...]:
    return "paused" if one.paused else _next_run(one), one.cron, one.zone, one.overlap.value, safe(one.name)


def _notes(store: Store, one: Schedule) -> Iterator[str]:
    for last in last_runs(store, one.id, 1):
        at = datetime.fromtimestamp(last.tick, ZoneInfo(one.zone))
        more = f", job {last.job}" if last.state is RunState.BEGUN else f": {safe(last.reason)}" if last.reason else ""
        yield f"last {at:%Y-%m-%d %H:%M}: {last.state}{more}"
        if last.missed:
            yield f"{last.missed:,} before it passed while nobody tended"
