"""Computes the ticks of a schedule from a cron expression of five fields in a time zone.

Daylight saving time works as in Debian's cron: a tick in the skipped hour comes right after it, and a tick in the
repeated hour comes once.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from shoal.errors import UsageError

MOST_COUNTED = 1_000
NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""As every cron has them; @reboot is no time."""
_FIELDS = 5
_MOST_CHARS = 200


class Cron:
    def __init__(self, expression: str, zone: str) -> None:
        """Raises UsageError for an invalid expression, or one without any tick."""
        self._expression = NICKNAMES.get(expression.strip().lower(), expression)
        try:
            self._zone = ZoneInfo(zone)
        except (ValueError, KeyError, OSError):
            raise UsageError(f"unknown time zone {zone!r}: give one such as Europe/Berlin or UTC") from None
        if len(self._expression.split()) != _FIELDS or len(expression) > _MOST_CHARS:
            raise UsageError(
                f"cron {expression!r}: give minute, hour, day, month and weekday, such as '30 4 * * mon', "
                f"or one of {', '.join(NICKNAMES)}"
            )
        try:
            self.after(datetime.now(UTC).timestamp())
        except CronSimError as error:
            raise UsageError(f"cron {expression!r}: {str(error).lower()}") from None

    def after(self, at: float) -> float:
        """The first tick after this time."""
        return self._tick(at, reverse=False)

    def last(self, at: float) -> float:
        """The last tick at or before this time."""
        # CronSim looks for earlier ticks only, in whole seconds.
        return self._tick(int(at) + 1, reverse=True)

    def next_runs(self, at: float, n: int) -> list[datetime]:
        """The next n ticks, in the schedule's time zone."""
        ticks = CronSim(self._expression, datetime.fromtimestamp(at, self._zone))
        return [tick for tick, _ in zip(ticks, range(n), strict=False)]

    def count(self, since: float, until: float) -> int:
        """The number of ticks from the one at `since` to the one at `until`, both included; at most MOST_COUNTED."""
        n, tick = 1, since
        while tick < until and n < MOST_COUNTED:
            n, tick = n + 1, self.after(tick)
        return n

    def _tick(self, at: float, reverse: bool) -> float:
        try:
            return next(CronSim(self._expression, datetime.fromtimestamp(at, self._zone), reverse)).timestamp()
        except StopIteration:
            raise UsageError(f"cron {self._expression!r}: no such date within fifty years") from None
