"""The Celery app of a fleet: `celery -A shoal.fleet worker -Q express,batch`, or `shoal worker`.

Celery starts processes, replaces them and hands them slices; what is crawled, and when, is in the frontier.
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
from shoal.fleet import logs, slices
from shoal.fleet.broker import use_checking_transport
from shoal.fleet.child import Child
from shoal.fleet.configuration import configuration
from shoal.fleet.messages import SLICE, SUBMIT
from shoal.fleet.place import Fleet
from shoal.fleet.stopping import tell_to_stop
from shoal.fleet.submit import submit_task
from shoal.fleet.watch import Watch
from shoal.model import Lane
from shoal.telemetry import Events

_settings = settings.load({}, os.environ, Path.cwd(), settings.user_config_file(os.environ))

use_checking_transport()
app = Celery("shoal")
app.conf.update(configuration(_settings))
logs.set_up(_settings)

log = Events(__name__)
_child: Child | None = None
_watch: Watch | None = None


@app.task(name=SLICE)
def work_a_slice(lane: str) -> None:
    assert _child is not None
    if not _child.slice(Lane(lane)):
        return
    try:
        # If another waits already, this process takes that one: so doubled ones come to an end.
        if not slices.waiting(app, Lane(lane)):
            slices.publish(app, Lane(lane))
    except Unavailable:
        # `tend` finds this process at rest.
        pass


@app.task(name=SUBMIT)
def take_a_job(*args: Any, **asked: Any) -> str | None:
    """A job from another Celery program: `send_task("shoal.submit", kwargs={"urls": [...]}, queue="express")`.

    With urls, rules, spider and options. Whoever can write the broker can send it, so it may do what a submitter may do
    over the API. Gives the job's id, or None if it was refused.
    """
    try:
        if args:
            raise UsageError("shoal.submit takes named arguments only: urls, rules, spider, options")
        return asyncio.run(_submitted(asked))
    except ShoalError as error:
        log.error("submit_refused", f"a job that was sent to the broker is refused: {error}")
        return None


async def _submitted(asked: Mapping[str, Any]) -> str:
    fleet = Fleet(_settings)
    try:
        return (await submit_task(fleet, asked)).id
    finally:
        await fleet.close()


@signals.task_prerun.connect
def _heed_time_limit(**_: Any) -> None:
    signal.signal(SIG_SOFT_TIMEOUT, soft_timeout_sighandler)


@signals.task_postrun.connect
def _ignore_time_limit(**_: Any) -> None:
    # A main process that was cut off from its broker looks at its timers before it hears what ended meanwhile, and the
    # limit of a slice that is over would end a process that waits for the next.
    signal.signal(SIG_SOFT_TIMEOUT, signal.SIG_IGN)


@signals.worker_init.connect
def _check_pool(sender: Any, **_: Any) -> None:
    pool = get_implementation(sender.pool_cls)
    if not issubclass(pool, TaskPool):
        print(
            f"error: a worker of Shoal needs Celery's prefork pool, not {pool.__module__}: its crawl has an event "
            "loop of its own in each process; leave out --pool, and set --concurrency to the number of processes",
            file=sys.stderr,
        )
        # Celery would only log another exception, and go on.
        raise SystemExit(UsageError.exit_code)


class _KeepWatch(bootsteps.StartStopStep):  # type: ignore[misc]
    """After the fork, so that no child inherits a thread's locks, and before Celery waits for its broker."""

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        global _watch
        _watch = Watch(_settings, app, _served(), parent.concurrency)
        _watch.start()


app.steps["worker"].add(_KeepWatch)


@signals.worker_ready.connect
def _tell_watch(**_: Any) -> None:
    assert _watch is not None
    _watch.consuming.set()


@signals.worker_process_init.connect
def _begin(**_: Any) -> None:
    global _child
    _child = Child(_settings, _served())


def _served() -> list[Lane]:
    return [Lane(name) for name in app.amqp.queues.consume_from if name in set(Lane)]


@signals.worker_shutting_down.connect
def _stop(**_: Any) -> None:
    tell_to_stop()


@signals.worker_process_shutdown.connect
def _end(**_: Any) -> None:
    if _child is not None:
        _child.end()


@signals.worker_shutdown.connect
def _end_watch(**_: Any) -> None:
    if _watch is not None:
        _watch.end()
