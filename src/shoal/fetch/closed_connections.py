"""Which origins close a connection under the next request, though they claimed to keep it.

Such a request is lost and sent again later. So an origin that does it twice gets a new connection for each request. It
may have been a matter of seconds, between two requests: after some answers it is believed once more.
"""

from __future__ import annotations

from collections import Counter

CLOSES_BELIEVED = 2
FORGIVEN_AFTER = 100
"""Requests with connections of their own, which cost a handshake each."""
_MOST_ORIGINS = 100_000


class ClosedConnections:
    def __init__(self) -> None:
        self._closes: Counter[str] = Counter()
        self._alone: Counter[str] = Counter()

    def __bool__(self) -> bool:
        """Whether any origin is known to close connections."""
        return bool(self._closes)

    def note(self, origin: str) -> None:
        if len(self._closes) >= _MOST_ORIGINS:
            self._closes.clear()
            self._alone.clear()
        self._closes[origin] += 1

    def needs_new_connection(self, origin: str) -> bool:
        """Ask it once for each request."""
        if self._closes[origin] < CLOSES_BELIEVED:
            return False
        self._alone[origin] += 1
        if self._alone[origin] <= FORGIVEN_AFTER:
            return True
        self._closes[origin], self._alone[origin] = CLOSES_BELIEVED - 1, 0
        return False
