"""Logging: what an operator reads on stderr. One line per event; tracebacks of our own faults, or when asked for."""

from __future__ import annotations

import logging
import sys


class _OneLine(logging.Formatter):
    """Without the traceback of a logged exception, and with nothing that a terminal would obey."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            line += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in line)


class _RoleLine(_OneLine):
    """When, who and what, of a process whose log is read later; whatever failed there by our fault is told whole."""

    def __init__(self, role: str, whole: bool) -> None:
        super().__init__(datefmt="%Y-%m-%d %H:%M:%S")
        self._role = role
        self._whole = whole

    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.formatTime(record, self.datefmt)} {self._role} {record.process} {super().format(record)}"
        if record.exc_info and (self._whole or record.levelno >= logging.ERROR):
            line += f"\n{self.formatException(record.exc_info)}"
        return line


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


def set_up_role(role: str, verbose: bool) -> None:
    """The same for a process of a fleet: what it does, and warnings of the libraries it stands on."""
    # Not sys.stderr, which a program that starts us may have put its own in the place of.
    to_stderr = logging.StreamHandler(sys.__stderr__)
    to_stderr.setFormatter(_RoleLine(role, whole=verbose))
    everything = logging.getLogger()
    everything.handlers = [to_stderr]
    everything.setLevel(logging.INFO if verbose else logging.WARNING)
    logging.getLogger("shoal").setLevel(logging.DEBUG if verbose else logging.INFO)
