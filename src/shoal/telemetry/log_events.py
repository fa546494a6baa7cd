"""How our code logs events, and how a command prints them on stderr: one line per event, tracebacks with --verbose.

    log = EventLogger(__name__)
    log.info("job_seeded", f"job {job.id} is seeded", **job.about)

docs/logs.md lists every name. Programs should rely on the name and the fields; the message may change.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TextIO

from shoal.wording import one_line

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the current API call. Every line logged meanwhile carries it, and a job that the call creates keeps it."""


class EventLogger:
    def __init__(self, module: str) -> None:
        self._log = logging.getLogger(module)

    def info(self, event: str, words: str, **about: object) -> None:
        self._write(logging.INFO, event, words, about)

    def debug(self, event: str, words: str, **about: object) -> None:
        """Shown only with verbose logging."""
        self._write(logging.DEBUG, event, words, about)

    def warning(self, event: str, words: str, **about: object) -> None:
        self._write(logging.WARNING, event, words, about)

    def error(self, event: str, words: str, **about: object) -> None:
        self._write(logging.ERROR, event, words, about)

    def exception(self, event: str, words: str, **about: object) -> None:
        """Adds the exception being handled: a fault of ours."""
        self._write(logging.ERROR, event, words, about, exc_info=True)

    def _write(self, level: int, event: str, words: str, about: dict[str, object], exc_info: bool = False) -> None:
        self._log.log(level, words, exc_info=exc_info, extra={"event": event, "about": about})


class OneLine(logging.Formatter):
    """One line without a traceback, and without control characters for the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        return one_line(line)


class _OverLiveLine(logging.StreamHandler[TextIO]):
    """On a terminal the event replaces the live line of progress, which is drawn again below it."""

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream.isatty():
            self.stream.write("\r\x1b[2K")
        super().emit(record)


def set_up(verbose: bool) -> None:
    """Logs to stderr: warnings and errors, one line each; or all our events with details if `verbose`."""
    to_stderr = _OverLiveLine()
    to_stderr.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s") if verbose else OneLine()
    )
    ours = logging.getLogger("shoal")
    ours.handlers = [to_stderr]
    ours.setLevel(logging.DEBUG if verbose else logging.WARNING)
    ours.propagate = False
