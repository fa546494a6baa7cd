"""How our code logs, and how a command says it on stderr: one line per event; tracebacks only when asked for.

    log = Events(__name__)
    log.info("job_seeded", f"job {job.id} is seeded", **job.about)

docs/logs.md has every name. Programs go by the name and by what it is about; the words may change.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the call of the API that is being answered: every line that is logged meanwhile carries it, and the job that it
begins keeps it."""


class Events:
    def __init__(self, module: str) -> None:
        self._log = logging.getLogger(module)

    def info(self, event: str, words: str, **about: object) -> None:
        self._write(logging.INFO, event, words, about)

    def debug(self, event: str, words: str, **about: object) -> None:
        """What matters only to whoever asked for everything."""
        self._write(logging.DEBUG, event, words, about)

    def warning(self, event: str, words: str, **about: object) -> None:
        self._write(logging.WARNING, event, words, about)

    def error(self, event: str, words: str, **about: object) -> None:
        self._write(logging.ERROR, event, words, about)

    def exception(self, event: str, words: str, **about: object) -> None:
        """With the exception that is being handled: a fault of ours."""
        self._write(logging.ERROR, event, words, about, exc_info=True)

    def _write(self, level: int, event: str, words: str, about: dict[str, object], exc_info: bool = False) -> None:
        self._log.log(level, words, exc_info=exc_info, extra={"event": event, "about": about})


class OneLine(logging.Formatter):
    """Without the traceback of a logged exception, and with nothing that a terminal would obey."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in line)


def set_up(verbose: bool) -> None:
    """Logs to stderr: warnings and worse in one line each, or everything of ours, whole."""
    to_stderr = logging.StreamHandler()
    to_stderr.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s") if verbose else OneLine()
    )
    ours = logging.getLogger("shoal")
    ours.handlers = [to_stderr]
    ours.setLevel(logging.DEBUG if verbose else logging.WARNING)
    ours.propagate = False
