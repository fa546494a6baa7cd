"""The store seen from the event loop: a thread in which everything is done that must see, or be seen by, every save.

Its calls are done one after the other in the order they were made. Reads that need not see the saves under way have
threads of their own, so that a slow commit holds none of them up. How many calls may wait is the caller's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from shoal.store.batch import Batch, save
from shoal.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")


_READERS = 2


class Writer:
    def __init__(self, store: Store) -> None:
        self.store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._readers = ThreadPoolExecutor(max_workers=_READERS, thread_name_prefix="store-read")

    async def save(self, batch: Batch) -> None:
        await self.run(save, batch)

    async def run(self, call: Callable[Concatenate[Store, P], T], /, *args: P.args, **named: P.kwargs) -> T:
        """`call(store, ...)`, in the thread. A caller that is cancelled leaves the call to end by itself."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(call, self.store, *args, **named))

    async def read(self, call: Callable[Concatenate[Store, P], T], /, *args: P.args, **named: P.kwargs) -> T:
        """`call(store, ...)`, which writes nothing, beside the saves that are under way."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, partial(call, self.store, *args, **named))

    def close(self) -> None:
        """Waits for the calls that were made; the store stays open."""
        self._thread.shutdown()
        self._readers.shutdown()
