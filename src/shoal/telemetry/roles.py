"""How the processes of a fleet log: on a terminal a line for each event, elsewhere JSON, and always as JSON in the file
of their role in the home, where `shoal logs` finds it. Secrets are masked."""

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
from shoal.telemetry.events import Events, OneLine, request_id
from shoal.telemetry.masking import masked, masked_values
from shoal.telemetry.role_file import RoleFile, path_of

LIBRARY = "library"
"""The event of what is logged by others, such as Celery."""
_STDERR = 2

log = Events(__name__)


def set_up_role(role: str, settings: Settings, verbose: bool) -> None:
    """What this process does, and warnings of the libraries it stands on; `verbose`: whatever there is to be said."""
    path = path_of(settings.home, role)
    in_file = _is_stderr(path)
    # Not sys.stderr, which a program that starts us may have put its own in the place of.
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
        file = RoleFile(path)
    except OSError as error:
        log.warning("log_file_missing", f"{path} cannot be written: {error.strerror}; events are on stderr only")
        return
    file.setFormatter(form)
    everything.addHandler(file)


def _wants_json(form: str) -> bool:
    return form == "json" or (form == "auto" and not os.isatty(_STDERR))


def _is_stderr(path: Path) -> bool:
    """Whoever started us may have sent our stderr there already, as `shoal up` does."""
    try:
        there, ours = path.stat(), os.fstat(_STDERR)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


class _RoleLine(OneLine):
    """When, who and what; whatever failed by our fault is told whole."""

    def __init__(self, role: str, whole: bool) -> None:
        super().__init__(datefmt="%Y-%m-%d %H:%M:%S")
        self._role = role
        self._whole = whole

    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.formatTime(record, self.datefmt)} {self._role} {record.process} {super().format(record)}"
        if record.exc_info and (self._whole or record.levelno >= logging.ERROR):
            line += f"\n{self.formatException(record.exc_info)}"
        return masked(line)


def _json(role: str, whole: bool) -> logging.Formatter:
    def fields(_: Any, __: str, given: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        record: logging.LogRecord = given.pop("_record")
        asked = request_id.get()
        event = getattr(record, "event", LIBRARY)
        return {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "role": role,
            "pid": record.process,
            "event": event,
            "message": given["event"],
            **({"logger": record.name} if event == LIBRARY else {}),
            **({"request_id": asked} if asked else {}),
            **getattr(record, "about", {}),
            **_failure(given.get("exc_info"), whole or record.levelno >= logging.ERROR),
        }

    def mask(_: Any, __: str, given: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {name: masked_values(value) for name, value in given.items()}

    return structlog.stdlib.ProcessorFormatter(
        # In ASCII: what a page put into a line must not reach a terminal as an order.
        processors=[fields, mask, structlog.processors.JSONRenderer(ensure_ascii=True)],
    )


def _failure(failed: Any, whole: bool) -> dict[str, str]:
    """`failed` as `sys.exc_info` gives it, or nothing."""
    if not failed or failed[1] is None:
        return {}
    told = {"error": f"{type(failed[1]).__name__}: {failed[1]}"}
    if whole:
        told["traceback"] = logging.Formatter().formatException(failed)
    return told
