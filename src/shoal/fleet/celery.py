"""The Celery app of a fleet: `celery -A shoal.fleet worker -Q express,batch`, or `shoal worker`.

Celery starts processes, replaces them and delivers slices to them. The frontier decides what is crawled, and when.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from billiard.pool import SIG_SOFT_TIMEOUT, soft_timeout_sighandler
from celery import Celery, bootsteps, signals
from celery.concurrency import get_implementation
from celery.concurrency.prefork import TaskPool

from shoal import settings
from shoal.errors import ShoalError, Unavailable, UsageError
from shoal.fleet import celery_logging, slice_queue
from shoal.fleet.celery_config import configuration
from shoal.fleet.celery_transport import use_checking_transport
from shoal.fleet.fleet import Fleet
from shoal.fleet.message_checks import SLICE, SUBMIT
from shoal.fleet.scrapy_runner import ScrapyRunner
from shoal.fleet.shared_stop_flag import send_stop, stop_requested
from shoal.fleet.submit import submit_task
from shoal.fleet.worker_child import WorkerChild
from shoal.fleet.worker_watchdog import WorkerWatchdog
from shoal.model import Lane
from shoal.telemetry import EventLogger

_settings = settings.load({}, os.environ, Path.cwd(), settings.user_config_file(os.environ))

use_checking_transport()
app = Celery("shoal")
app.conf.update(configuration(_settings))
celery_logging.set_up(_settings)

log = EventLogger(__name__)
_child: WorkerChild | None = None
_watchdog: WorkerWatchdog | None = None
_scrapy: ScrapyRunner | None = None


@app.task(name=SLICE)
def run_slice(lane: str) -> None:
    assert _child is not None
    if not _child.slice(Lane(lane)):
        return
    try:
        # If a slice waits already, this process takes that one: so duplicate slices disappear.
        if not slice_queue.waiting(app, Lane(lane)):
            slice_queue.publish(app, Lane(lane))
    except Unavailable:
        # `tend` finds this process idle and publishes a slice.
        pass


@app.task(name=SUBMIT)
def submit_job(*args: Any, **fields: Any) -> str | None:
    """Submits a job for another Celery program: `send_task("shoal.submit", kwargs={"urls": [...]}, queue="express")`.

    Takes urls, rules, spider and options. Everyone with access to the broker can send it, so it has the rights of a
    submit token of the API. Returns the job's id, or None if it was refused.
    """
    try:
        if args:
            raise UsageError("shoal.submit takes named arguments only: urls, rules, spider, options")
        return asyncio.run(_submitted(fields))
    except ShoalError as error:
        log.error("submit_refused", f"refused a job that was sent to the broker: {error}")
        return None


async def _submitted(fields: Mapping[str, Any]) -> str:
    fleet = Fleet(_settings)
    try:
        return (await submit_task(fleet, fields)).id
    finally:
        await fleet.close()


@signals.task_prerun.connect
def _obey_time_limit(**_: Any) -> None:
    signal.signal(SIG_SOFT_TIMEOUT, soft_timeout_sighandler)


@signals.task_postrun.connect
def _ignore_time_limit(**_: Any) -> None:
    # A main process that lost its broker checks its timers before it learns which slices ended meanwhile. The time
    # limit of an ended slice would then kill a process that waits for the next one.
    signal.signal(SIG_SOFT_TIMEOUT, signal.SIG_IGN)


@signals.worker_init.connect
def _check_pool(sender: Any, **_: Any) -> None:
    pool = get_implementation(sender.pool_cls)
    if not issubclass(pool, TaskPool):
        print(
            f"error: a Shoal worker needs Celery's prefork pool, not {pool.__module__}, because each process runs its "
            "own event loop: remove --pool, and set --concurrency to the number of processes",
            file=sys.stderr,
        )
        # Celery would only log any other exception, and continue.
        raise SystemExit(UsageError.exit_code)


class _StartWatchdog(bootsteps.StartStopStep):  # type: ignore[misc]
    """Starts it after the fork, so that no child inherits a thread's locks, and before Celery waits for its broker."""

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        global _watchdog, _scrapy
        _watchdog = WorkerWatchdog(_settings, app, _served(), parent.concurrency)
        _watchdog.start()
        _scrapy = ScrapyRunner(_settings, _watchdog.id, _served(), stop_requested)
        _scrapy.start()


app.steps["worker"].add(_StartWatchdog)


@signals.worker_ready.connect
def _note_ready(**_: Any) -> None:
    assert _watchdog is not None
    _watchdog.consuming.set()


@signals.worker_process_init.connect
def _begin(**_: Any) -> None:
    global _child
    _child = WorkerChild(_settings, _served())


def _served() -> list[Lane]:
    return [Lane(name) for name in app.amqp.queues.consume_from if name in set(Lane)]


@signals.worker_shutting_down.connect
def _stop(**_: Any) -> None:
    send_stop()


@signals.worker_process_shutdown.connect
def _end(**_: Any) -> None:
    if _child is not None:
        _child.end()


@signals.worker_shutdown.connect
def _end_watchdog(**_: Any) -> None:
    if _scrapy is not None:
        _scrapy.end()
    if _watchdog is not None:
        _watchdog.end()
