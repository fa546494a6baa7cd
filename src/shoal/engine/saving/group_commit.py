"""Groups many small writes into few transactions: calls that arrive while one runs are made together next.

A single call does not wait. On a busy engine, a transaction serves all calls that arrived during the last one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")


class GroupCommit(Generic[A, R]):
    def __init__(self, call: Callable[[Sequence[A]], Awaitable[Sequence[R]]]) -> None:
        """`call` returns one result for each argument, in the same order."""
        self._call = call
        self._waiting: list[tuple[A, asyncio.Future[R]]] = []
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, argument: A) -> R:
        """Raises what the group's call raised. A cancelled caller leaves the call to the others."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((argument, result))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await result

    async def _run(self) -> None:
        group: list[tuple[A, asyncio.Future[R]]] = []
        try:
            while self._waiting:
                group, self._waiting = self._waiting, []
                await self._commit(group)
        finally:
            self._running = None
            # Callers still wait only if this task was cancelled.
            for _, waiting in (*group, *self._waiting):
                waiting.cancel()

    async def _commit(self, group: list[tuple[A, asyncio.Future[R]]]) -> None:
        try:
            results = await self._call([argument for argument, _ in group])
        except Exception as error:
            # Whatever it is, it belongs to the callers: nobody awaits this task.
            for _, waiting in group:
                if not waiting.done():
                    waiting.set_exception(error)
            return
        for (_, waiting), result in zip(group, results, strict=True):
            if not waiting.done():
                waiting.set_result(result)
