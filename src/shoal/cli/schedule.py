"""`shoal schedule`: jobs that begin by the clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from shutil import get_terminal_size
from typing import Any
from zoneinfo import ZoneInfo

import click

from shoal.cli.asked import asked, asked_options, report_bad_lines
from shoal.cli.dryrun import refuse_unknown_spider, show_dry_run
from shoal.cli.order import read_order
from shoal.cli.reach import Record
from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal import safe, table
from shoal.store.schedules import Overlap, RunState

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
        refuse_unknown_spider(session, source)
        wanted = asked(session, source, column, strict, None, options)
        show_dry_run(session, wanted.spec, wanted.sources)
        return
    order = read_order(source, column, options)
    urls = order.urls()
    if order.sources is not None:
        report_bad_lines(session, order.sources, strict)
    with session.open_schedules() as schedules:
        made = schedules.add(label, cron, zone, overlap, order, urls)
    _tell(session, made, f"begins {_next_run(made)}")


@schedule.command("list", cls=Command)
def list_(session: Session) -> None:
    """List the schedules: when each runs next, and how its last run went.

    \b
    shoal schedule list
    shoal schedule list --json
    """
    with session.open_schedules() as schedules:
        found = schedules.all()
    if session.json:
        for one in found:
            session.data(one)
        return
    if not found:
        way = session.command("schedule", "add", "NAME", '--cron "30 4 * * *"', "URL")
        session.say(f"there is no schedule yet: {way}")
        return
    header, *lines = table(map(_row, found), HEADER, get_terminal_size().columns, frozenset())
    session.show(header)
    for one, line in zip(found, lines, strict=True):
        session.show(line)
        for note in _notes(one):
            session.show(f"        {note}")


@schedule.command(cls=Command)
@click.argument("label", metavar="NAME")
def remove(session: Session, label: str) -> None:
    """Remove a schedule by its NAME or id; the jobs that it has begun stay.

    \b
    shoal schedule remove news
    """
    with session.open_schedules() as schedules:
        name = schedules.remove(label)
    if session.json:
        session.data({"removed": name})
    session.say(f"schedule {safe(name)} is removed")


@schedule.command(cls=Command)
@click.argument("label", metavar="NAME")
@click.option("--off", is_flag=True, help="Let it go on.")
def pause(session: Session, label: str, off: bool) -> None:
    """Let a schedule rest; what would have run meanwhile is not made up for.

    \b
    shoal schedule pause news
    shoal schedule pause news --off
    """
    with session.open_schedules() as schedules:
        changed = schedules.pause(label, not off)
    _tell(session, changed, f"begins {_next_run(changed)}" if off else "is paused")


@schedule.command(cls=Command)
@click.argument("label", metavar="NAME")
def run(session: Session, label: str) -> None:
    """Begin the job of a schedule now, besides its hours.

    \b
    shoal schedule run news
    """
    with session.open_schedules() as schedules:
        job = schedules.run(label)
    if session.json:
        session.data({"id": job})
        return
    session.show(job)
    session.say(f"follow it: {session.command('watch', job)}")


def _tell(session: Session, one: Record, said: str) -> None:
    if session.json:
        session.data(one)
        return
    session.say(f"schedule {safe(one['name'])} {said}")


def _next_run(one: Record) -> str:
    return f"{datetime.fromisoformat(one['next_runs'][0]):%Y-%m-%d %H:%M}"


def _row(one: Record) -> tuple[str, ...]:
    return "paused" if one["paused"] else _next_run(one), one["cron"], one["zone"], one["overlap"], safe(one["name"])


def _notes(one: Record) -> Iterator[str]:
    for last in one["runs"][:1]:
        at = datetime.fromisoformat(last["at"]).astimezone(ZoneInfo(one["zone"]))
        begun = last["state"] == RunState.BEGUN
        more = f", job {last['job']}" if begun else f": {safe(last['reason'])}" if last["reason"] else ""
        yield f"last {at:%Y-%m-%d %H:%M}: {last['state']}{more}"
        if last["missed"]:
            yield f"{last['missed']:,} before it passed while nobody tended"
