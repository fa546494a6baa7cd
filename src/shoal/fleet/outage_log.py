"""Logs an outage once when it begins and once when it is over: a line at every retry would flood the log."""

from __future__ import annotations

from shoal.telemetry import EventLogger

_OVER = {"Redis": "Redis is back", "postgresql": "the database is back"}
"""Message for the end of an outage, by the first word of its reason."""


class OutageLog:
    def __init__(self, log: EventLogger | None) -> None:
        """Without a log it only keeps the reason: another process logs it."""
        self._log = log
        self.reason: str | None = None
        """None: there is no outage."""

    def waits(self, reason: str) -> None:
        if self._log and (self.reason is None or without_detail(reason) != without_detail(self.reason)):
            self._log.warning("waiting", f"waiting: {reason}")
        self.reason = reason

    def over(self) -> None:
        if self._log and self.reason is not None:
            text = next((text for start, text in _OVER.items() if self.reason.startswith(start)), "the outage is over")
            self._log.info("goes_on", text)
        self.reason = None


def without_detail(reason: str) -> str:
    """Without the last part: the same outage may be a refused connection at first and a timeout later."""
    return reason.rpartition(": ")[0] or reason
