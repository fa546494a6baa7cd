"""Logging: what an operator reads on stderr. One line per event; tracebacks only when asked for."""

from __future__ import annotations

import logging


class _OneLine(logging.Formatter):
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
        logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s") if verbose else _OneLine()
    )
    ours = logging.getLogger("shoal")
    ours.handlers = [to_stderr]
    ours.setLevel(logging.DEBUG if verbose else logging.WARNING)
    ours.propagate = False
