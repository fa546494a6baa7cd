"""The time limit of a transfer. While a transfer is paused, nothing is read from its host, and its timer stops.

BodyMemory decides how long a pause lasts. It resumes one transfer every second.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import pycurl


class TransferTimer:
    """The timer of one handle. A transfer stops it at most once."""

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
        """How long a transfer that has ended ran."""
        return float(self._curl.getinfo(pycurl.TOTAL_TIME)) - self._stood_s

    def stop(self) -> None:
        self._stopped_at = time.monotonic()
        # Later: libcurl accepts no option from its own callback.
        self._timer = asyncio.get_running_loop().call_soon(self._curl.setopt, pycurl.TIMEOUT_MS, 0)

    def go_on(self) -> None:
        """Call it before the transfer resumes. Does nothing if that has ended meanwhile."""
        if self._stopped_at is None or self._timer is None:
            return
        self._timer.cancel()
        self._stood_s = time.monotonic() - self._stopped_at
        self._end_within(self._deadline_s + self._stood_s)
        self._timer = asyncio.get_running_loop().call_later(self._deadline_s, self._look)

    def forget(self) -> bool:
        """The transfer has ended. True if the timer must be set again."""
        if self._stopped_at is None:
            return False
        if self._timer is not None:
            self._timer.cancel()
        self._stopped_at, self._stood_s, self._timer = None, 0.0, None
        return True

    def _end_within(self, seconds: float) -> None:
        self._curl.setopt(pycurl.TIMEOUT_MS, max(1, int(seconds * 1000)))

    def _look(self) -> None:
        """libcurl sets its timer when a transfer begins, and never checks it again if the host is silent. It does check
        when the transfer resumes from a pause."""
        with suppress(pycurl.error):
            self._curl.pause(pycurl.PAUSE_RECV)
            self._curl.pause(pycurl.PAUSE_CONT)
