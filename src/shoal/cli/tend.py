"""`shoal tend`: the role that keeps a fleet going besides its workers."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import click

from shoal.cli.session import Command, Session
from shoal.settings import Settings


@click.command(cls=Command)
def tend(session: Session) -> None:
    """Tend the fleet: seed new jobs, end finished ones, return what dead workers held, restore a lost Redis.

    One is enough, two are safe: only one at a time acts. Ends with Ctrl-C or SIGTERM.

    \b
    SHOAL_REDIS_URL=redis://localhost:6379/0 shoal tend
    """
    from shoal.fleet.configuration import configuration
    from shoal.telemetry.roles import set_up_role

    set_up_role("tend", session.settings, session.verbose)
    asyncio.run(_tend(session.settings, configuration(session.settings)))


async def _tend(settings: Settings, configured: dict[str, Any]) -> None:
    from celery import Celery

    from shoal.fleet import tend

    app = Celery("shoal")
    app.conf.update(configured)
    stopping = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    await tend.tend(app, settings, stopping)
