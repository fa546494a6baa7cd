"""The store for callers on the event loop: one thread for writes, and two more for reads. Small saves need none.

The write thread makes its calls one after the other, in the order in which they came. A read that need not see the
latest saves uses the read threads, so that a slow commit does not delay it. Callers limit how many calls wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from shoal.store.crawl.save_batch import Batch, is_small, save, save_at_once
from shoal.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")


_READERS = 2


class AsyncStore:
    def __init__(self, store: Store) -> None:
        self.store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._running = 0
        """Calls of the write thread that have not returned."""
        self._readers = ThreadPoolExecutor(max_workers=_READERS, thread_name_prefix="store-read")

    async def save(self, batch: Batch) -> None:
        """A few small pages are saved at once, on the event loop, which takes less than to wake the thread."""
        if not self._running and is_small(batch) and save_at_once(self.store, batch):
            return
        await self.run(save, batch)

    async def run(self, call: Callable[Concatenate[Store, P], T], /, *args: P.args, **named: P.kwargs) -> T:
        """Runs `call(store, ...)` in the write thread. If the caller is cancelled, the call still runs to its end."""
        loop = asyncio.get_running_loop()
        self._running += 1
        try:
            return await loop.run_in_executor(self._thread, partial(call, self.store, *args, **named))
        finally:
            self._running -= 1

    async def read(self, call: Callable[Concatenate[Store, P], T], /, *args: P.args, **named: P.kwargs) -> T:
        """Runs `call(store, ...)`, which must not write, in parallel with the saves."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, partial(call, self.store, *args, **named))

    def close(self) -> None:
        """Waits for all calls to finish; the store stays open."""
        self._thread.shutdown()
        self._readers.shutdown()
