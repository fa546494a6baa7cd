"""What a role waits for, said once when it begins and once when it is over: a line at every try would bury the rest of
the log."""

from __future__ import annotations

from shoal.telemetry import Events

_OVER = {"Redis": "Redis is back", "postgresql": "the database is back"}
"""By what the reason begins with."""


class Trouble:
    def __init__(self, log: Events | None) -> None:
        """Without a log it is only kept: another process says it."""
        self._log = log
        self.reason: str | None = None
        """In words; None: it waits for nothing."""

    def waits(self, reason: str) -> None:
        if self._log and (self.reason is None or _gist(reason) != _gist(self.reason)):
            self._log.warning("waiting", f"waiting: {reason}")
        self.reason = reason

    def over(self) -> None:
        if self._log and self.reason is not None:
            words = next((said for start, said in _OVER.items() if self.reason.startswith(start)), "goes on")
            self._log.info("goes_on", words)
        self.reason = None


def _gist(reason: str) -> str:
    """Without the last part, in which one and the same outage is a refusal now and a time-out then."""
    return reason.rpartition(": ")[0] or reason
