"""How a Celery worker of ours logs: our lines and Celery's warnings in one form, its chatter only when asked for.

That Redis is away or full is said by the watch, once; Celery would say it at every try.
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

from billiard.exceptions import WorkerLostError
from billiard.util import get_logger
from celery import signals
from celery.platforms import SecurityWarning
from celery.worker.consumer.consumer import CONNECTION_ERROR, CONNECTION_RETRY
from redis.exceptions import RedisError

from shoal.settings import Settings
from shoal.telemetry.roles import set_up_role

_CONSUMER = "celery.worker.consumer.consumer"
_OFTEN = "Frequent restarts detected"
"""With a trace, every second that a full Redis takes nothing."""
_TIMERS = "kombu.asynchronous.hub"
_REQUEST = "celery.worker.request"
_LATE = "Soft time limit"
"""Also of a slice that ended while the broker was away; one that does not end is told of by its task."""
_settings: Settings
_verbose = False


def set_up(settings: Settings) -> None:
    """To be called before Celery begins."""
    global _settings
    _settings = settings
    # A container's user is often root, and nothing but JSON is taken from the broker.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    signals.setup_logging.connect(_set_up)
    signals.worker_process_init.connect(_set_up_child)


def _set_up(loglevel: int, **_: Any) -> None:
    global _verbose
    _verbose = loglevel <= logging.INFO
    set_up_role("worker", _settings, _verbose)
    # Which process died, and by what signal: as a line like any other.
    get_logger().propagate = True
    if not _verbose:
        logging.getLogger(_CONSUMER).addFilter(_is_news)
        logging.getLogger(_TIMERS).addFilter(_is_not_of_redis)
        logging.getLogger(_REQUEST).addFilter(_is_of_a_slice)
        # Celery logs Python's warnings, which are for programmers.
        logging.getLogger("py.warnings").setLevel(logging.ERROR)


def _set_up_child(**_: Any) -> None:
    set_up_role("child", _settings, _verbose)


def _is_news(record: logging.LogRecord) -> bool:
    again = record.msg == CONNECTION_ERROR or _about(record) == CONNECTION_RETRY or record.msg.startswith(_OFTEN)
    return not again


def _is_not_of_redis(record: logging.LogRecord) -> bool:
    return not isinstance(_about(record), RedisError)


def _is_of_a_slice(record: logging.LogRecord) -> bool:
    """And not that its process died, which is told of without a trace."""
    return not record.msg.startswith(_LATE) and not isinstance(_about(record), WorkerLostError)


def _about(record: logging.LogRecord) -> object:
    return record.args[0] if isinstance(record.args, tuple) and record.args else None
