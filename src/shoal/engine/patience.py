"""Waits out a full disk: what could not be written is tried again until there is room, or until the engine stops.

A write that found no room has changed nothing, so it can be made anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from shoal.errors import DiskFull

P = ParamSpec("P")
T = TypeVar("T")

TRY_EVERY_S = 2.0
ENOUGH_MB = 16
"""Told to the operator: what a batch of pages and both databases' logs take, not a bound that is looked at."""


class Patience:
    def __init__(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping
        self._waiting = 0
        self._where = ""

    @property
    def waiting_for(self) -> str | None:
        """In words, what everything waits for; None while writes succeed."""
        return f"disk full at {self._where}, {ENOUGH_MB} MB needed" if self._waiting else None

    async def insist(self, write: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
        """Raises DiskFull only if the engine is stopping."""
        while True:
            try:
                return await write(*args, **named)
            except DiskFull as full:
                if self._stopping.is_set():
                    raise
                self._where = str(full.path.parent)
            await self._wait()

    async def _wait(self) -> None:
        self._waiting += 1
        try:
            await asyncio.wait_for(self._stopping.wait(), TRY_EVERY_S)
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1
