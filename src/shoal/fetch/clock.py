"""The time that a transfer has: while it is paused, its host is not read from, and its clock stands still.

How long that may be is for the intake to say, which lets one on every second.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import pycurl


class Clock:
    """Of one handle. A transfer stops it once at most."""

    def __init__(self, curl: pycurl.Curl) -> None:
        self._curl = curl
        self._deadline_s = 0.0
        self._stopped_at: float | None = None
        self._stood_s = 0.0
        self._timer: asyncio.Handle | None = None

    def set(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._end_within(deadline_s)

    @property
    def ran_s(self) -> float:
        """Of a transfer that has ended."""
        return float(self._curl.getinfo(pycurl.TOTAL_TIME)) - self._stood_s

    def stop(self) -> None:
        self._stopped_at = time.monotonic()
        # Not at once: libcurl takes no option from what it calls.
        self._timer = asyncio.get_running_loop().call_soon(self._curl.setopt, pycurl.TIMEOUT_MS, 0)

    def go_on(self) -> None:
        """Before the transfer does, unless that has ended meanwhile."""
        if self._stopped_at is None or self._timer is None:
            return
        self._timer.cancel()
        self._stood_s = time.monotonic() - self._stopped_at
        self._end_within(self._deadline_s + self._stood_s)
        self._timer = asyncio.get_running_loop().call_later(self._deadline_s, self._look)

    def forget(self) -> bool:
        """The transfer is over; True if the clock must be set anew."""
        if self._stopped_at is None:
            return False
        if self._timer is not None:
            self._timer.cancel()
        self._stopped_at, self._stood_s, self._timer = None, 0.0, None
        return True

    def _end_within(self, seconds: float) -> None:
        self._curl.setopt(pycurl.TIMEOUT_MS, max(1, int(seconds * 1000)))

    def _look(self) -> None:
        """libcurl sets its timer when a transfer begins, and if its host is silent never looks again; but when it goes
        on from a pause it does."""
        with suppress(pycurl.error):
            self._curl.pause(pycurl.PAUSE_RECV)
            self._curl.pause(pycurl.PAUSE_CONT)
