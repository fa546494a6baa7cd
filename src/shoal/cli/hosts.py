"""`shoal hosts`: the hosts' clocks, and an operator's word on one of them."""

from __future__ import annotations

import math
import time
from shutil import get_terminal_size

import click

from shoal.cli.session import Command, Session, safe, table
from shoal.cli.words import duration, plural
from shoal.errors import UsageError
from shoal.frontier.contract import HostState
from shoal.jobs.hosts import find_host, host_record, override
from shoal.jobs.place import Place
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
        raise UsageError("--rate, --pause and --unpause are for one host: shoal hosts HOST --rate R")
    with session.open_places() as places:
        place = places.here
        if host is None:
            _show(session, session.run(place.frontier.hosts()), everything)
        else:
            _show(session, [session.run(_overridden(place, host, rate, paused))], everything=True)


async def _overridden(place: Place, name: str, rate: str | None, paused: bool | None) -> HostState:
    state = await find_host(place.frontier, name)
    if rate is None and paused is None:
        return state
    said: Said = {}
    if rate is not None:
        said["rate"] = _rate(rate)
    if paused is not None:
        said["paused"] = paused
    await override(place, state.name, said)
    return await find_host(place.frontier, state.name)


def _rate(text: str) -> float | None:
    """None: each job's own."""
    if text == "default":
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not (rate > 0 and math.isfinite(rate)):
        raise UsageError(f"--rate {text}: give requests per second, more than 0, or `default`; --pause stops a host")
    return rate


def _show(session: Session, states: list[HostState], everything: bool) -> None:
    now = time.time()
    shown = [state for state in states if everything or _has_something_to_tell(state, now)]
    if session.json:
        for state in shown:
            session.data(host_record(state))
    elif shown:
        header, *lines = table((_row(state, now) for state in shown), HEADER, get_terminal_size().columns, NUMBERS)
        session.show(header)
        for state, line in zip(shown, lines, strict=True):
            session.show(line)
            for note in _notes(state, now):
                session.show(f"        {note}")
    if len(shown) < len(states) and not session.json:
        session.say(f"{len(states) - len(shown):,} of {len(states):,} hosts have nothing to tell: shoal hosts --all")


def _has_something_to_tell(state: HostState, now: float) -> bool:
    overridden = state.rate is not None or state.paused
    slow = state.slowdown > SLOWED or state.crawl_delay_s > 0 or state.block_until > now or state.fails > 0
    return overridden or slow or state.in_flight > 0


def _row(state: HostState, now: float) -> tuple[str, ...]:

    wait_s = state.next_at - now
    return (
        NONE if state.rate is None else f"{state.rate:g}/s",
        f"x{state.slowdown:.1f}" if state.slowdown > SLOWED else NONE,
        str(state.in_flight),
        duration(wait_s) if wait_s > 0 else NONE,
        duration(state.crawl_delay_s) if state.crawl_delay_s else NONE,
        f"{1000 * state.latency_s:,.0f} ms",
        safe(state.name),
    )


def _notes(state: HostState, now: float) -> list[str]:

    notes = [f"paused; go on: shoal hosts {safe(state.name)} --unpause"] if state.paused else []
    if state.block_until > now:
        notes.append(f"blocked for {duration(state.block_until - now)}: {state.block_reason}")
    return [*notes, *([f"{plural(state.fails, 'failure')} in a row"] if state.fails else [])]
