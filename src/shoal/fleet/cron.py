"""When a schedule's ticks are: a cron expression of five fields, in a time zone.

Summer time is treated as Debian's cron does: a tick that falls into the hour which is left out comes right after it,
and one in the hour that comes twice comes once.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from shoal.errors import UsageError

MOST_COUNTED = 1_000
_FIELDS = 5
_MOST_CHARS = 200


class Cron:
    def __init__(self, expression: str, zone: str) -> None:
        """Raises UsageError for one that cannot be read, or never comes."""
        self._expression = expression
        try:
            self._zone = ZoneInfo(zone)
        except (ValueError, KeyError, OSError):
            raise UsageError(f"zone {zone!r} is not known: give one as in Europe/Berlin, or UTC") from None
        if len(expression.split()) != _FIELDS or len(expression) > _MOST_CHARS:
            raise UsageError(f"cron {expression!r}: give minute, hour, day, month and weekday, as in '30 4 * * mon'")
        try:
            self.after(datetime.now(UTC).timestamp())
        except CronSimError as error:
            raise UsageError(f"cron {expression!r}: {str(error).lower()}") from None

    def after(self, at: float) -> float:
        """The first tick after this moment."""
        return self._tick(at, reverse=False)

    def last(self, at: float) -> float:
        """The last tick up to this moment."""
        # It looks for those before, to the second.
        return self._tick(int(at) + 1, reverse=True)

    def next_runs(self, at: float, n: int) -> list[datetime]:
        """The next n, in its zone."""
        ticks = CronSim(self._expression, datetime.fromtimestamp(at, self._zone))
        return [tick for tick, _ in zip(ticks, range(n), strict=False)]

    def count(self, since: float, until: float) -> int:
        """How many ticks from the one at `since` to the one at `until`, both included; MOST_COUNTED at most."""
        n, tick = 1, since
        while tick < until and n < MOST_COUNTED:
            n, tick = n + 1, self.after(tick)
        return n

    def _tick(self, at: float, reverse: bool) -> float:
        try:
            return next(CronSim(self._expression, datetime.fromtimestamp(at, self._zone), reverse)).timestamp()
        except StopIteration:
            raise UsageError(f"cron {self._expression!r}: no such day comes in fifty years") from None
