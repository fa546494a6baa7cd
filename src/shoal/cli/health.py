"""`shoal health`: the probe of a container, and an operator's first question."""

from __future__ import annotations

from dataclasses import asdict

import click

from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe
from shoal.errors import Unavailable
from shoal.fleet.health import Condition, conditions

SOON_S = 10.0
"""A silence that is longer is told: a slow page's, as a rule, but also how a process begins to be stuck."""


@click.command(cls=Command)
def health(session: Session) -> None:
    """Exit with 0 if every role of this machine and home makes progress, otherwise with 5 and the reason.

    A role that `shoal up` should have here and that has not begun fails too.
    A role that waits for Redis or the database is alive: to start it anew would not help. It is named, with exit
    code 0.

    \b
    shoal health
    shoal health --json
    """
    found = list(conditions(session.settings.home, session.settings.silent_s))
    for condition in found:
        if session.json:
            session.data(asdict(condition))
        elif not session.quiet or condition.fault:
            session.show(_line(condition))
    if not found:
        raise Unavailable(f"no worker and no tend runs here from {session.settings.home}")
    failing = [condition for condition in found if condition.fault]
    if failing:
        names = ", ".join(f"{condition.role} {condition.pid or 'has not begun'}" for condition in failing)
        raise Unavailable(f"no progress: {names}")


def _line(condition: Condition) -> str:
    if condition.pid is None:
        return f"{condition.role:<6}  has not begun: {safe(condition.fault or '')}"
    who = f"{condition.role:<6}  process {condition.pid}"
    if condition.fault:
        return f"{who}  no progress for {condition.silent_s:.0f} s: {safe(condition.fault)}"
    if condition.waiting_for:
        return f"{who}  alive, but waits: {safe(condition.waiting_for)}"
    silent_s = condition.silent_s or 0.0
    return f"{who}  makes progress" + (f", last {silent_s:.0f} s ago" if silent_s > SOON_S else "")
