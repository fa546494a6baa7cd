"""`shoal health`: checks the fleet's processes on this machine; for operators and container probes."""

from __future__ import annotations

from dataclasses import asdict

import click

from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe
from shoal.errors import Unavailable
from shoal.fleet.local_health import RoleHealth, role_health

SOON_S = 10.0
"""Longer silences are shown. Usually a page is slow, but a process that gets stuck begins the same way."""


@click.command(cls=Command)
@click.option("--browser", is_flag=True, help="Check instead that this machine's browser starts and renders pages.")
def health(session: Session, browser: bool) -> None:
    """Check that the fleet's processes of this machine and home make progress. Exit code 0: all do; 5: one does not.

    A process that `shoal up` should have started and that does not run counts as a failure. A process that waits for
    Redis or the database counts as healthy, because a restart would not help; the output names what it waits for.

    \b
    shoal health
    shoal health --json
    shoal health --browser
    """
    if browser:
        _show_browser(session)
        return
    found = list(role_health(session.settings.home, session.settings.silent_s))
    for condition in found:
        if session.json:
            session.data(asdict(condition))
        elif not session.quiet or condition.fault:
            session.show(_line(condition))
    if not found:
        raise Unavailable(f"no worker and no tend process runs on this machine with home {session.settings.home}")
    failing = [condition for condition in found if condition.fault]
    if failing:
        names = ", ".join(f"{condition.role} {condition.pid or 'has not started'}" for condition in failing)
        raise Unavailable(f"no progress: {names}")


def _show_browser(session: Session) -> None:
    # Imported here: the health of processes is asked for every few seconds.
    import asyncio

    from shoal.browser.check_browser import check_browser

    found = asyncio.run(check_browser(session.settings.browser, session.settings.user_agent))
    if session.json:
        session.data(asdict(found))
        return
    network = "closed by the kernel" if found.network_closed else "closed by flags and proxy, not by the kernel"
    session.show(f"browser  {found.program}\nversion  {found.version}\nsandbox  works\nnetwork  {network}")


def _line(condition: RoleHealth) -> str:
    if condition.pid is None:
        return f"{condition.role:<6}  has not started: {safe(condition.fault or '')}"
    who = f"{condition.role:<6}  process {condition.pid}"
    if condition.fault:
        return f"{who}  no progress for {condition.silent_s:.0f} s: {safe(condition.fault)}"
    if condition.waiting_for:
        return f"{who}  alive, but waiting: {safe(condition.waiting_for)}"
    silent_s = condition.silent_s or 0.0
    return f"{who}  makes progress" + (f", last {silent_s:.0f} s ago" if silent_s > SOON_S else "")
