"""`shoal schedule`: manages schedules, which start jobs at set times."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from shutil import get_terminal_size
from typing import Any
from zoneinfo import ZoneInfo

import click

from shoal.cli.backends import Record
from shoal.cli.dry_run import refuse_unknown_spider, show_dry_run
from shoal.cli.job_flags import webhook_options
from shoal.cli.job_request import read_request, report_bad_lines, request_options_beside_source
from shoal.cli.option_sections import SectionedCommand
from shoal.cli.remote_job_request import read_remote_request
from shoal.cli.scrapy_flags import scrapy_options, take_scrapy_flags
from shoal.cli.session import Command, Session, global_options
from shoal.cli.terminal_text import safe, table
from shoal.store.fleet.schedules import Overlap, RunState
from shoal.wording import plural

HEADER = ("next run", "cron", "zone", "overlap", "name")


@click.group()
@global_options
def schedule() -> None:
    """Manage schedules, which start jobs at set times. `shoal tend` starts the jobs.

    \b
    shoal schedule add news --cron "*/30 * * * *" https://example.com
    shoal schedule list
    shoal schedule remove news
    """


@schedule.command(cls=SectionedCommand)
@click.argument("label", metavar="NAME")
@click.option(
    "--cron",
    required=True,
    metavar="EXPR",
    help='Minute, hour, day, month, weekday: "30 4 * * mon"; or @hourly, @daily, @weekly, @monthly, @yearly.',
)
@click.option("--zone", default="UTC", show_default=True, metavar="ZONE", help="Time zone, as in Europe/Berlin.")
@click.option(
    "--overlap",
    type=click.Choice([overlap.value for overlap in Overlap]),
    default=Overlap.SKIP.value,
    show_default=True,
    help="What to do when the previous job has not ended yet.",
)
@webhook_options
@click.argument("source", nargs=-1)
@scrapy_options
@request_options_beside_source
def add(
    session: Session, label: str, cron: str, zone: str, overlap: str, source: tuple[str, ...], **options: Any
) -> None:
    """Add a schedule called NAME that crawls SOURCE at the times of the cron expression EXPR.

    SOURCE and the options are the same as for `shoal submit`. Lists are read once, now; a spider must be
    package.module:name. All jobs have the same name and fetch only what changed since the last one (--refresh). With
    --scrapy, the jobs run a spider of a Scrapy project, as `shoal submit --scrapy` does.

    \b
    shoal schedule add news --cron "*/30 * * * *" https://example.com
    shoal schedule add shop --cron "30 4 * * mon" --zone Europe/Berlin shop.yaml
    shoal schedule add docs --cron @daily https://example.com/docs/ --scope prefix
    shoal schedule add books --cron @daily --scrapy /srv/shop --spider books --processes 2
    """
    column, strict, dry_run = options.pop("column"), options.pop("strict"), options.pop("dry_run")
    scrapy = take_scrapy_flags(session, source, dry_run, options)
    if scrapy is not None:
        with session.open_schedules() as schedules:
            made = schedules.add_scrapy(label, cron, zone, overlap, scrapy)
        _report(session, made, f"is added, next run {_next_run(made)}")
        return
    if dry_run:
        refuse_unknown_spider(session, source)
        request = read_request(session, source, column, strict, None, options)
        show_dry_run(session, request.spec, request.sources)
        return
    order = read_remote_request(session, source, column, options)
    urls = order.urls()
    if order.sources is not None:
        report_bad_lines(session, order.sources, strict, becomes_job=False)
    with session.open_schedules() as schedules:
        made = schedules.add(label, cron, zone, overlap, order, urls)
    _report(session, made, f"is added, next run {_next_run(made)}")


@schedule.command("list", cls=Command)
def list_(session: Session) -> None:
    """List the schedules with the next run and the result of the last run.

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
    """Remove a schedule by its NAME or id. The jobs that it has started stay.

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
@click.option("--off", is_flag=True, help="Continue the schedule.")
def pause(session: Session, label: str, off: bool) -> None:
    """Pause a schedule. Runs that it misses meanwhile are not made up for.

    \b
    shoal schedule pause news
    shoal schedule pause news --off
    """
    with session.open_schedules() as schedules:
        changed = schedules.pause(label, not off)
    _report(session, changed, f"continues, next run {_next_run(changed)}" if off else "is paused")


@schedule.command(cls=Command)
@click.argument("label", metavar="NAME")
def run(session: Session, label: str) -> None:
    """Start the job of a schedule now, in addition to its set times.

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


def _report(session: Session, one: Record, message: str) -> None:
    if session.json:
        session.data(one)
        return
    session.say(f"schedule {safe(one['name'])} {message}")


def _next_run(one: Record) -> str:
    return f"{datetime.fromisoformat(one['next_runs'][0]):%Y-%m-%d %H:%M}"


def _row(one: Record) -> tuple[str, ...]:
    return "paused" if one["paused"] else _next_run(one), one["cron"], one["zone"], one["overlap"], safe(one["name"])


def _notes(one: Record) -> Iterator[str]:
    if one["cannot_run"]:
        yield f"cannot run: {safe(one['cannot_run'])}"
    for last in one["runs"][:1]:
        at = datetime.fromisoformat(last["at"]).astimezone(ZoneInfo(one["zone"]))
        begun = last["state"] == RunState.BEGUN
        more = f", job {last['job']}" if begun else f": {safe(last['reason'])}" if last["reason"] else ""
        yield f"last {at:%Y-%m-%d %H:%M}: {last['state']}{more}"
        if last["missed"]:
            yield f"{plural(last['missed'], 'earlier run')} missed while no tend process ran"
