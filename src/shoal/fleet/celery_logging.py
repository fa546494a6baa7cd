"""Sets up logging in a Celery worker: Shoal's events and Celery's warnings in one format, the rest with --verbose.

The watchdog logs once that Redis is away or full; Celery's line at every retry is hidden.
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
from shoal.telemetry.role_logging import set_up_role

_CONSUMER = "celery.worker.consumer.consumer"
_OFTEN = "Frequent restarts detected"
"""Logged with a traceback every second while Redis is full."""
_TIMERS = "kombu.asynchronous.hub"
_REQUEST = "celery.worker.request"
_LATE = "Soft time limit"
"""Also logged for a slice that ended while the broker was away; the task itself logs a slice that does not end."""
_settings: Settings
_verbose = False


def set_up(settings: Settings) -> None:
    """Must be called before Celery starts."""
    global _settings
    _settings = settings
    # Celery warns about root, which is common in containers; it is safe because only JSON messages are accepted.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    signals.setup_logging.connect(_set_up)
    signals.worker_process_init.connect(_set_up_child)


def _set_up(loglevel: int, **_: Any) -> None:
    global _verbose
    _verbose = loglevel <= logging.INFO
    set_up_role("worker", _settings, _verbose)
    # Logs which process died, and from what signal, in the same format.
    get_logger().propagate = True
    if not _verbose:
        logging.getLogger(_CONSUMER).addFilter(_is_not_repeated)
        logging.getLogger(_TIMERS).addFilter(_is_not_from_redis)
        logging.getLogger(_REQUEST).addFilter(_is_from_slice)
        # Celery logs Python's warnings, which are for programmers.
        logging.getLogger("py.warnings").setLevel(logging.ERROR)


def _set_up_child(**_: Any) -> None:
    set_up_role("child", _settings, _verbose)


def _is_not_repeated(record: logging.LogRecord) -> bool:
    repeated = record.msg == CONNECTION_ERROR or _about(record) == CONNECTION_RETRY or record.msg.startswith(_OFTEN)
    return not repeated


def _is_not_from_redis(record: logging.LogRecord) -> bool:
    return not isinstance(_about(record), RedisError)


def _is_from_slice(record: logging.LogRecord) -> bool:
    """Hides the death of a process, which is logged elsewhere without a traceback."""
    return not record.msg.startswith(_LATE) and not isinstance(_about(record), WorkerLostError)


def _about(record: logging.LogRecord) -> object:
    return record.args[0] if isinstance(record.args, tuple) and record.args else None
