"""`shoal tend`: runs the scheduler of a fleet."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import click

from shoal.cli.session import Command, Session
from shoal.settings import Settings


@click.command(cls=Command)
def tend(session: Session) -> None:
    """Run the fleet's scheduler: start and finish jobs, and recover work from dead workers or a lost Redis.

    A fleet needs one. A second one is safe and takes over when the first stops; only one acts at a time. It runs until
    Ctrl-C or SIGTERM.

    \b
    SHOAL_REDIS_URL=redis://localhost:6379/0 shoal tend
    """
    from shoal.fleet.celery_config import configuration
    from shoal.telemetry.role_logging import set_up_role

    set_up_role("tend", session.settings, session.verbose)
    asyncio.run(_tend(session.settings, configuration(session.settings)))


async def _tend(settings: Settings, configured: dict[str, Any]) -> None:
    from celery import Celery

    from shoal.engine.timed_event import TimedEvent
    from shoal.fleet import tend

    app = Celery("shoal")
    app.conf.update(configured)
    stopping = TimedEvent()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    await tend.tend(app, settings, stopping)
