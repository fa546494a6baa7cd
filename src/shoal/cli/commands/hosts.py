"""`shoal hosts`: shows the state of the hosts, and sets an operator's override for one of them."""

from __future__ import annotations

import time
from datetime import datetime
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from shoal.cli.backends import Record
from shoal.cli.humanize import duration, plural
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe, table
from shoal.errors import UsageError
from shoal.model.options import RATE

if TYPE_CHECKING:
    from shoal.store.fleet.host_overrides import StoredOverride

HEADER = ("rate", "slowed", "in flight", "next", "crawl-delay", "latency", "host")
NUMBERS = frozenset(range(len(HEADER) - 1))
NONE = "–"
SLOWED = 1.05
"""A smaller slowdown is not shown."""


@click.command(cls=Command)
@click.argument("host", required=False)
@click.option("--rate", metavar="R", help="Requests per second to HOST, for all jobs; `default`: each job's own rate.")
@click.option("--pause/--unpause", "paused", default=None, help="Stop or continue requests to HOST.")
@click.option("--all", "everything", is_flag=True, help="Also show idle hosts.")
def hosts(session: Session, host: str | None, rate: str | None, paused: bool | None, everything: bool) -> None:
    """Show each host's state: rate, requests in flight, delays. With HOST and an option: set its rate or pause it.

    Running crawls apply a change at their next request. Without HOST it lists the hosts that are busy, slowed, blocked
    or paused, or have a crawl-delay or a rate of their own.

    \b
    shoal hosts
    shoal hosts example.com --rate 0.5
    shoal hosts example.com --pause
    shoal hosts example.com --rate default --unpause
    """
    if host is None and (rate is not None or paused is not None):
        way = session.command("hosts", "HOST", "--rate R")
        raise UsageError(f"--rate, --pause and --unpause need a host: {way}")
    with session.open_jobs() as backend:
        if host is None:
            _show(session, backend.hosts(robots=session.json), everything)
        else:
            _show(session, [backend.host(host, _override(rate, paused))], everything=True)


def _override(rate: str | None, paused: bool | None) -> StoredOverride:
    override: StoredOverride = {}
    if rate is not None:
        override["rate"] = _rate(rate)
    if paused is not None:
        override["paused"] = paused
    return override


def _rate(text: str) -> float | None:
    """None: each job's own rate."""
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
    shown = [host for host in hosts if everything or _is_notable(host, now)]
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
        session.say(f"{quiet:,} of {plural(len(hosts), 'host')} {have} nothing to report: {all_of_them}")


def _is_notable(host: Record, now: float) -> bool:
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
    unpause = session.command("hosts", safe(host["host"]), "--unpause")
    notes = [f"paused; continue with: {unpause}"] if host["paused"] else []
    blocked_s = _left_s(host["block_until"], now)
    if blocked_s > 0:
        notes.append(f"blocked for {duration(blocked_s)}: {host['block_reason'] or ''}")
    return [*notes, *([f"{plural(host['fails'], 'failure')} in a row"] if host["fails"] else [])]
