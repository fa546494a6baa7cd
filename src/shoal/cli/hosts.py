"""`shoal hosts`: the hosts' clocks, and an operator's word on one of them."""

from __future__ import annotations

import time
from datetime import datetime
from shutil import get_terminal_size

import click

from shoal.cli.reach import Record
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe, table
from shoal.cli.words import duration, plural
from shoal.errors import UsageError
from shoal.model.bounds import RATE
from shoal.store.hosts import Said

HEADER = ("rate", "slowed", "in flight", "next", "crawl-delay", "latency", "host")
NUMBERS = frozenset(range(len(HEADER) - 1))
NONE = "–"
SLOWED = 1.05
"""Below this a host is as good as at its rate."""


@click.command(cls=Command)
@click.argument("host", required=False)
@click.option("--rate", metavar="R", help="Requests per second here, whatever a job asks; default: the job's again.")
@click.option("--pause/--unpause", "paused", default=None, help="Request nothing here, or go on.")
@click.option("--all", "everything", is_flag=True, help="Also the hosts there is nothing to tell of.")
def hosts(session: Session, host: str | None, rate: str | None, paused: bool | None, everything: bool) -> None:
    """Show the hosts' clocks; with HOST and an option, override one. A running crawl follows at its next lease.

    Without HOST: those that are busy, slowed, blocked, paused, have a crawl-delay or a rate of their own.

    \b
    shoal hosts
    shoal hosts example.com --rate 0.5
    shoal hosts example.com --pause
    shoal hosts example.com --rate default --unpause
    """
    if host is None and (rate is not None or paused is not None):
        way = session.command("hosts", "HOST", "--rate R")
        raise UsageError(f"--rate, --pause and --unpause are for one host: {way}")
    with session.open_jobs() as reached:
        if host is None:
            _show(session, reached.hosts(robots=session.json), everything)
        else:
            _show(session, [reached.host(host, _said(rate, paused))], everything=True)


def _said(rate: str | None, paused: bool | None) -> Said:
    said: Said = {}
    if rate is not None:
        said["rate"] = _rate(rate)
    if paused is not None:
        said["paused"] = paused
    return said


def _rate(text: str) -> float | None:
    """None: each job's own."""
    if text == "default":
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if rate == 0 or not RATE.holds(rate):
        bounds = f"from {RATE.least:g} to {RATE.most:,}"
        raise UsageError(f"--rate {text}: give requests per second, {bounds}, or `default`; --pause stops a host")
    return rate


def _show(session: Session, hosts: list[Record], everything: bool) -> None:
    now = time.time()
    shown = [host for host in hosts if everything or _has_something_to_tell(host, now)]
    if session.json:
        for host in shown:
            session.data(host)
    elif shown:
        header, *lines = table((_row(host, now) for host in shown), HEADER, get_terminal_size().columns, NUMBERS)
        session.show(header)
        for host, line in zip(shown, lines, strict=True):
            session.show(line)
            for note in _notes(session, host, now):
                session.show(f"        {note}")
    if len(shown) < len(hosts) and not session.json:
        all_of_them = session.command("hosts", "--all")
        quiet = len(hosts) - len(shown)
        have = "has" if quiet == 1 else "have"
        session.say(f"{quiet:,} of {plural(len(hosts), 'host')} {have} nothing to tell: {all_of_them}")


def _has_something_to_tell(host: Record, now: float) -> bool:
    overridden = host["rate"] is not None or host["paused"]
    slow = host["slowdown"] > SLOWED or host["crawl_delay_s"] > 0 or host["fails"] > 0
    return overridden or slow or _left_s(host["block_until"], now) > 0 or host["in_flight"] > 0


def _left_s(until: str | None, now: float) -> float:
    return 0.0 if until is None else datetime.fromisoformat(until).timestamp() - now


def _row(host: Record, now: float) -> tuple[str, ...]:
    wait_s = _left_s(host["next_at"], now)
    return (
        NONE if host["rate"] is None else f"{host['rate']:g}/s",
        f"x{host['slowdown']:.1f}" if host["slowdown"] > SLOWED else NONE,
        str(host["in_flight"]),
        duration(wait_s) if wait_s > 0 else NONE,
        duration(host["crawl_delay_s"]) if host["crawl_delay_s"] else NONE,
        f"{1000 * host['latency_s']:,.0f} ms",
        safe(host["host"]),
    )


def _notes(session: Session, host: Record, now: float) -> list[str]:
    go_on = session.command("hosts", safe(host["host"]), "--unpause")
    notes = [f"paused; go on: {go_on}"] if host["paused"] else []
    blocked_s = _left_s(host["block_until"], now)
    if blocked_s > 0:
        notes.append(f"blocked for {duration(blocked_s)}: {host['block_reason'] or ''}")
    return [*notes, *([f"{plural(host['fails'], 'failure')} in a row"] if host["fails"] else [])]
