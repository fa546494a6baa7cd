"""Logging for a fleet's processes: text on a terminal, JSON on any other stderr, and always JSON in the role's file
in the home, which `shoal logs` reads. Secrets are masked."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from shoal.settings import Settings
from shoal.telemetry.log_events import EventLogger, OneLine, request_id
from shoal.telemetry.log_files import RoleLogHandler, path_of
from shoal.telemetry.mask_secrets import masked, masked_values

LIBRARY = "library"
"""The event name of what libraries log, such as Celery."""
_STDERR = 2

log = EventLogger(__name__)


def set_up_role(role: str, settings: Settings, verbose: bool) -> None:
    """Logs our events and the warnings of libraries; with `verbose` also details."""
    path = path_of(settings.home, role)
    in_file = _is_stderr(path)
    # Not sys.stderr: a program that starts us may have replaced it.
    to_stderr = logging.StreamHandler(sys.__stderr__)
    to_stderr.setFormatter(_json(role, verbose) if in_file or _wants_json(settings.log) else _RoleLine(role, verbose))
    everything = logging.getLogger()
    everything.handlers = [to_stderr]
    everything.setLevel(logging.INFO if verbose else logging.WARNING)
    logging.getLogger("shoal").setLevel(logging.DEBUG if verbose else logging.INFO)
    if not in_file:
        _write_file_too(everything, path, _json(role, verbose))


def _write_file_too(everything: logging.Logger, path: Path, form: logging.Formatter) -> None:
    try:
        file = RoleLogHandler(path)
    except OSError as error:
        log.warning("log_file_missing", f"{path} cannot be written: {error.strerror}; events are on stderr only")
        return
    file.setFormatter(form)
    everything.addHandler(file)


def _wants_json(form: str) -> bool:
    return form == "json" or (form == "auto" and not os.isatty(_STDERR))


def _is_stderr(path: Path) -> bool:
    """The process that started us may have redirected our stderr there, as `shoal up` does."""
    try:
        there, ours = path.stat(), os.fstat(_STDERR)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


class _RoleLine(OneLine):
    """Time, role, process and message; an error of ours with its traceback."""

    def __init__(self, role: str, tracebacks: bool) -> None:
        super().__init__(datefmt="%Y-%m-%d %H:%M:%S")
        self._role = role
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.formatTime(record, self.datefmt)} {self._role} {record.process} {super().format(record)}"
        if record.exc_info and (self._tracebacks or record.levelno >= logging.ERROR):
            line += f"\n{self.formatException(record.exc_info)}"
        return masked(line)


def _json(role: str, tracebacks: bool) -> logging.Formatter:
    def fields(_: Any, __: str, given: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        record: logging.LogRecord = given.pop("_record")
        call_id = request_id.get()
        event = getattr(record, "event", LIBRARY)
        return {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "role": role,
            "pid": record.process,
            "event": event,
            "message": given["event"],
            **({"logger": record.name} if event == LIBRARY else {}),
            **({"request_id": call_id} if call_id else {}),
            **getattr(record, "about", {}),
            **_failure(given.get("exc_info"), tracebacks or record.levelno >= logging.ERROR),
        }

    def mask(_: Any, __: str, given: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {name: masked_values(value) for name, value in given.items()}

    return structlog.stdlib.ProcessorFormatter(
        # In ASCII: control characters from a page must not reach a terminal.
        processors=[fields, mask, structlog.processors.JSONRenderer(ensure_ascii=True)],
    )


def _failure(failed: Any, with_traceback: bool) -> dict[str, str]:
    """`failed` is a `sys.exc_info` tuple, or empty."""
    if not failed or failed[1] is None:
        return {}
    fields = {"error": f"{type(failed[1]).__name__}: {failed[1]}"}
    if with_traceback:
        fields["traceback"] = logging.Formatter().formatException(failed)
    return fields
